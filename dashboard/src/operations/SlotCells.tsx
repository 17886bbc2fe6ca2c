import classes from "./SlotCells.module.css";

const MOST = 24; // cells; beyond, a bar

/** The slots of a worker: a filled cell for each one that is in use. */
export function SlotCells({ holding, slots }: { holding: number; slots: number }) {
  const words = `${holding} of ${slots}`;
  return (
    <span className={classes.slots} role="img" aria-label={`${words} slots in use`}>
      {slots <= MOST ? (
        <span className={classes.cells}>
          {Array.from({ length: slots }, (_, place) => (
            <span key={place} className={classes.cell} data-used={place < holding || undefined} />
          ))}
        </span>
      ) : (
        <meter className={classes.bar} min={0} max={slots} value={holding} />
      )}
      <span className={classes.words}>{words}</span>
    </span>
  );
}
