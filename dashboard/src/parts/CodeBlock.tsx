import classes from "./CodeBlock.module.css";
import { CopyButton } from "./CopyButton";

interface CodeBlockProps {
  code: string;
  /** What it is, for the copy button: "the command", "the traceback". */
  what: string;
  /** Pixels, before it scrolls. */
  maxHeight?: number;
  /** Breaks long lines instead of scrolling sideways. */
  wrap?: boolean;
}

/** Code, a command or any other exact text, with a button that copies it. */
export function CodeBlock({ code, what, maxHeight = 400, wrap = false }: CodeBlockProps) {
  return (
    <div className={classes.block}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <pre className={classes.code} data-wrap={wrap || undefined} style={{ maxHeight }} tabIndex={0} aria-label={what}>
        <code>{code}</code>
      </pre>
      <div className={classes.copy}>
        <CopyButton text={code} what={what} />
      </div>
    </div>
  );
}

/** JSON, indented. */
export function JsonBlock({ value, what, maxHeight }: { value: unknown; what: string; maxHeight?: number }) {
  const code = value === undefined ? "" : JSON.stringify(value, null, 2);
  return <CodeBlock code={code} what={what} {...(maxHeight ? { maxHeight } : {})} />;
}
