import classes from "./StateIcon.module.css";
import type { Shape, StateLook } from "./states";

/** The shape of a state, 14 px. The word is beside it, or given to screen readers by `labelled`. */
export function StateIcon({ look, size = 14, labelled = false }: { look: StateLook; size?: number; labelled?: boolean }) {
  const name = labelled ? { role: "img", "aria-label": look.word } : { "aria-hidden": true };
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} className={classes.icon} style={{ color: look.color }} {...name}>
      {labelled && <title>{look.word}</title>}
      {SHAPES[look.shape]}
    </svg>
  );
}

const line = { fill: "none", stroke: "currentColor", strokeWidth: 1.6, strokeLinecap: "round", strokeLinejoin: "round" } as const;
const cut = { fill: "none", stroke: "var(--card)", strokeWidth: 1.9, strokeLinecap: "round", strokeLinejoin: "round" } as const;

const SHAPES: Record<Shape, React.ReactNode> = {
  check: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="M4.8 8.3l2.2 2.2 4.3-4.6" {...cut} />
    </>
  ),
  spinner: (
    <>
      <circle cx="8" cy="8" r="6" {...line} strokeOpacity="0.3" strokeWidth="2" />
      <path d="M8 2a6 6 0 0 1 6 6" {...line} strokeWidth="2" className={classes.spin} />
      <path d="M6.6 5.6v4.8l4-2.4z" fill="currentColor" />
    </>
  ),
  retry: (
    <>
      <path d="M8 1.2L15.4 14.4H.6z" fill="currentColor" strokeLinejoin="round" />
      <path d="M10.2 9.2A2.4 2.4 0 1 0 10.3 11.6M10.5 7.6v1.8H8.7" {...cut} strokeWidth="1.4" />
    </>
  ),
  cross: (
    <>
      <rect x="1.2" y="1.2" width="13.6" height="13.6" rx="1.6" fill="currentColor" />
      <path d="M5 5l6 6M11 5l-6 6" {...cut} />
    </>
  ),
  octagon: (
    <>
      <path d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z" fill="currentColor" />
      <path d="M4.6 11.4l6.8-6.8" {...cut} />
    </>
  ),
  lines: <path d="M2.5 4h11M2.5 8h11M2.5 12h11" {...line} />,
  clock: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} strokeDasharray="2.4 2.2" />
      <path d="M8 4.6V8l2.4 1.6" {...line} />
    </>
  ),
  hourglass: <path d="M3.5 1.8h9M3.5 14.2h9M4.6 1.8c0 4 6.8 8.4 6.8 12.4M11.4 1.8c0 4-6.8 8.4-6.8 12.4" {...line} strokeWidth="1.4" />,
  minus: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} />
      <path d="M5 8h6" {...line} />
    </>
  ),
  forward: <path d="M3 3.5L7.5 8 3 12.5M8.5 3.5L13 8l-4.5 4.5" {...line} />,
  pause: <path d="M5.2 3v10M10.8 3v10" {...line} strokeWidth="2.4" />,
  play: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} />
      <path d="M6.5 5.2v5.6L11 8z" fill="currentColor" />
    </>
  ),
  plug: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} />
      <circle cx="8" cy="8" r="3" fill="currentColor" />
    </>
  ),
  drain: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} />
      <path d="M8 4.5v6.2M5.4 8.4L8 11l2.6-2.6" {...line} />
    </>
  ),
  question: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} strokeDasharray="1.2 2" />
      <path d="M6.2 6.4a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.8.6-.8 1.2M8 11.4v.1" {...line} />
    </>
  ),
  bolt: (
    <>
      <path d="M8 .8L15.2 8 8 15.2.8 8z" fill="currentColor" />
      <path d="M8.8 4.4L6.4 8.4h3.2l-2.4 3.4" {...cut} strokeWidth="1.4" />
    </>
  ),
};
