import { StateIcon } from "../parts/StateIcon";
import { isPulse, KINDS } from "./eventKinds";
import classes from "./events.module.css";

/** What each kind of event means. */
export function KindMeanings() {
  return (
    <details className={classes.meanings}>
      <summary>What the kinds mean</summary>
      <dl>
        {Object.entries(KINDS).map(([kind, { words, look }]) => (
          <div key={kind}>
            <dt className={classes.kind}>
              <StateIcon look={look} />
              <code>{kind}</code>
              {isPulse(kind) && <small>live only</small>}
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
