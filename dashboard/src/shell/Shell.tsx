import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useLiveConnection } from "../live/useLive";
import { asked } from "../parts/confirm";
import { readSetting, writeSetting } from "../parts/localSettings";
import { useStore } from "../parts/store";
import { DESTINATIONS } from "./navigation";
import { helpOpened, paletteOpened } from "./overlays";
import { PausedBanner } from "./PausedBanner";
import { Rail } from "./Rail";
import classes from "./Shell.module.css";
import { TopBar } from "./TopBar";
import { useKeys } from "./useKeys";

const RailDrawer = lazy(() => import("./RailDrawer"));
const ConfirmDialog = lazy(() => import("../parts/ConfirmDialog"));
const Palette = lazy(() => import("./Palette"));
const KeyboardHelp = lazy(() => import("./KeyboardHelp"));

/** The frame around every page: rail, top bar, palette, keys, and the one connection to the live events. */
export function Shell() {
  useLiveConnection();
  useShellKeys();
  const [collapsed, setCollapsed] = useState(() => readSetting("rail-collapsed", false));
  const [drawer, setDrawer] = useState(false);
  const collapse = () => {
    setCollapsed(!collapsed);
    writeSetting("rail-collapsed", !collapsed);
  };
  return (
    <div className={classes.frame} data-collapsed={collapsed || undefined}>
      <a href="#main" className={classes.skip} onClick={focusMain}>
        To the content
      </a>
      <div className={classes.rail}>
        <Rail collapsed={collapsed} onCollapse={collapse} />
      </div>
      <div className={classes.top}>
        <TopBar onMenu={() => setDrawer(true)} />
      </div>
      <Main />
      <Suspense>
        {drawer && <RailDrawer onClose={() => setDrawer(false)} />}
        {useStore(asked) && <ConfirmDialog />}
        {useStore(paletteOpened) && <Palette />}
        {useStore(helpOpened) && <KeyboardHelp />}
      </Suspense>
    </div>
  );
}

/** A new page takes the focus, so that keyboards and screen readers begin at its head. */
function Main() {
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const shownPath = useRef(path);
  useEffect(() => {
    if (shownPath.current !== path) main.current?.focus({ preventScroll: true });
    shownPath.current = path;
  }, [path]);
  return (
    <main id="main" ref={main} className={classes.main} tabIndex={-1}>
      <PausedBanner />
      <Outlet />
    </main>
  );
}

/** The link has the base of the page in it, so the address must not follow it. */
function focusMain(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function useShellKeys(): void {
  const navigate = useNavigate();
  const goTo = DESTINATIONS.map(({ to, key }) => [`g ${key}`, () => void navigate({ to })] as const);
  useKeys({ ...Object.fromEntries(goTo), "/": focusSearch, "?": () => helpOpened.set(true) });
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      paletteOpened.set(!paletteOpened.get());
    };
    document.addEventListener("keydown", open);
    return () => document.removeEventListener("keydown", open);
  }, []);
}

/** The search field of the page; where it has none, the palette. */
function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>("[data-page-search]");
  if (field) field.select();
  else paletteOpened.set(true);
}
