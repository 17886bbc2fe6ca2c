import classes from "./Facts.module.css";

/** Facts about one thing: what it is called, and what it is. */
export function Facts({ facts, wide = false }: { facts: readonly (readonly [string, React.ReactNode])[]; wide?: boolean }) {
  return (
    <dl className={classes.facts} data-wide={wide || undefined}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}
