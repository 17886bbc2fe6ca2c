import { Alert, Button } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { CopyButton } from "./CopyButton";
import classes from "./Problem.module.css";
import { wordsOf } from "./problemWords";

interface ProblemProps {
  error: unknown;
  onRetry?: () => void;
}

/** An error as the API said it: title, detail, every wrong field with its hint, and the id of the request. */
export function Problem({ error, onRetry }: ProblemProps) {
  const { title, detail, errors, requestId } = wordsOf(error);
  return (
    <Alert color="red" variant="outline" role="alert" title={title} icon={<IconAlertTriangle size={18} />} className={classes.problem}>
      {detail && <p className={classes.text}>{detail}</p>}
      {errors.length > 0 && (
        <ul className={classes.fields}>
          {errors.map((each) => (
            <li key={`${each.path}:${each.message}`}>
              {each.path && <code>{each.path}</code>} {each.message}
              {each.hint && <span className={classes.hint}> {each.hint}</span>}
            </li>
          ))}
        </ul>
      )}
      <div className={classes.foot}>
        {onRetry && (
          <Button variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
        {requestId && (
          <span className={classes.request}>
            Request <code>{requestId}</code>
            <CopyButton text={requestId} what="the request id" />
          </span>
        )}
      </div>
    </Alert>
  );
}
