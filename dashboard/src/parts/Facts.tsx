import classes from "./Facts.module.css";

interface FactsProps {
  facts: readonly (readonly [string, React.ReactNode])[];
  /** For controls. */
  wide?: boolean;
  /** For long names. */
  roomy?: boolean;
}

/** Facts about one thing: what it is called, and what it is. */
export function Facts({ facts, wide = false, roomy = false }: FactsProps) {
  return (
    <dl className={classes.facts} data-wide={wide || undefined} data-roomy={roomy || undefined}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}
