/** Shows the `data-tip` of what the pointer rests on or the focus is on. One box for the whole page: a table has
 * thousands of times, and each may have a tip. */
const DELAY = 300; // milliseconds
const GAP = 6; // pixels

export function installTips(): () => void {
  const box = document.createElement("div");
  box.id = "tip";
  box.className = "tip";
  box.setAttribute("role", "tooltip");
  box.hidden = true;
  document.body.append(box);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let owner: Element | null = null;

  const hide = () => {
    clearTimeout(timer);
    owner?.removeAttribute("aria-describedby");
    owner = null;
    box.hidden = true;
  };
  const show = (target: Element) => {
    owner = target;
    box.textContent = target.getAttribute("data-tip");
    box.hidden = false;
    place(box, target.getBoundingClientRect());
    target.setAttribute("aria-describedby", box.id);
  };
  const look = (event: Event) => {
    const target = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    if (target === owner) return;
    // A click gives the focus, too, but needs no tip.
    if (event.type === "focusin" && !target?.matches(":focus-visible")) return;
    hide();
    if (target?.getAttribute("data-tip")) timer = setTimeout(() => show(target), event.type === "focusin" ? 0 : DELAY);
  };
  const leave = (event: KeyboardEvent) => {
    if (event.key === "Escape") hide();
  };
  const listeners: [string, EventListener][] = [
    ["pointerover", look],
    ["focusin", look],
    ["pointerdown", hide],
    ["keydown", leave as EventListener],
    ["scroll", hide],
  ];
  for (const [name, listener] of listeners) document.addEventListener(name, listener, { capture: true, passive: true });
  return () => {
    hide();
    box.remove();
    for (const [name, listener] of listeners) document.removeEventListener(name, listener, { capture: true });
  };
}

/** Below its owner, or above where there is no room; always inside the window. */
function place(box: HTMLElement, owner: DOMRect): void {
  const { width, height } = box.getBoundingClientRect();
  const below = owner.bottom + GAP;
  const top = below + height > window.innerHeight ? owner.top - GAP - height : below;
  const left = Math.min(Math.max(GAP, owner.left + owner.width / 2 - width / 2), window.innerWidth - width - GAP);
  box.style.top = `${Math.max(GAP, top)}px`;
  box.style.left = `${left}px`;
}
