import { type ToggleEvent, useId, useRef, useState } from "react";
import classes from "./DropDown.module.css";

interface DropDownProps {
  /** What the button does, for screen readers and as its tip. */
  label: string;
  /** What the button shows. */
  face: React.ReactNode;
  className?: string | undefined;
  /** Drawn while it is open; `close` closes it. */
  children: (close: () => void) => React.ReactNode;
}

const GAP = 4; // pixels
const EDGE = 8; // pixels kept free at the edge of the window

/** A button that opens a box below it, with the browser's own popover: Escape and a click elsewhere close it. */
export function DropDown({ label, face, className, children }: DropDownProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [opened, setOpened] = useState(false);
  const close = () => {
    box.current?.hidePopover();
    button.current?.focus();
  };
  const onToggle = (event: ToggleEvent) => {
    const opens = event.newState === "open";
    setOpened(opens);
    if (!opens || !box.current || !button.current) return;
    const { bottom, right } = button.current.getBoundingClientRect();
    box.current.style.top = `${bottom + GAP}px`;
    box.current.style.right = `${Math.max(EDGE, document.documentElement.clientWidth - right)}px`;
  };
  return (
    <>
      <button ref={button} type="button" className={className ?? classes.button} aria-label={label} data-tip={label} popoverTarget={id}>
        {face}
      </button>
      <div ref={box} id={id} popover="auto" className={classes.box} onBeforeToggle={onToggle}>
        {opened && children(close)}
      </div>
    </>
  );
}

interface DropDownItemProps {
  onClick: () => void;
  icon?: React.ReactNode;
  /** At the right: a key. */
  end?: React.ReactNode;
  /** Whether it is the one that is chosen, among several. */
  chosen?: boolean;
  children: React.ReactNode;
}

export function DropDownItem({ onClick, icon, end, chosen, children }: DropDownItemProps) {
  return (
    <button type="button" className={classes.item} aria-pressed={chosen} onClick={onClick}>
      {icon}
      <span className={classes.text}>{children}</span>
      {chosen && <span aria-hidden>✓</span>}
      {end}
    </button>
  );
}

export function DropDownLabel({ children }: { children: React.ReactNode }) {
  return <div className={classes.label}>{children}</div>;
}
