/** The attempts of an execution: ●●○○ is the second of four. */
export function AttemptDots({ attempt, most }: { attempt: number; most: number }) {
  const words = `${attempt} of ${most}`;
  if (most > 6) return <span>{words}</span>;
  const used = Math.min(attempt, most);
  return (
    <span role="img" aria-label={`attempt ${words}`} data-tip={`attempt ${words}`}>
      {"●".repeat(used)}
      {"○".repeat(most - used)}
    </span>
  );
}
