import classes from "./calendar.module.css";

/** What the looks of a cell mean. */
export function Legend() {
  return (
    <p className={classes.legend} aria-hidden>
      <span>
        less
        {[1, 2, 3, 4, 5].map((level) => (
          <i key={level} className={classes.cell} data-level={level} />
        ))}
        more ran
      </span>
      <span>
        <i className={classes.cell} data-level={3}>
          <b className={classes.corner} data-size={2} />
        </i>
        failures
      </span>
      <span>
        <i className={classes.cell} data-due={4} />
        due
      </span>
      <span>
        <i className={classes.cell} data-level={0}>
          <b className={classes.missed}>!</b>
        </i>
        missed
      </span>
    </p>
  );
}
