const KEY = "tickwork-reloaded-at";
const AT_MOST_EVERY = 60_000; // milliseconds: a file that is missing for good must not make the page reload for ever

/** An upgraded server has other files than those that an open page knows: the page then loads itself anew, once. */
export function reloadAfterUpgrade(): void {
  window.addEventListener("vite:preloadError", (event) => {
    const last = Number(sessionStorage.getItem(KEY) ?? 0);
    if (Date.now() - last < AT_MOST_EVERY) return;
    event.preventDefault();
    sessionStorage.setItem(KEY, String(Date.now()));
    location.reload();
  });
}
