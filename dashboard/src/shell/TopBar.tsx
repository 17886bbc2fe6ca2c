import { ActionIcon } from "@mantine/core";
import { IconMenu2, IconSearch } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { AccountMenu } from "./AccountMenu";
import { useCrumbs } from "./breadcrumb";
import { LivePill } from "./LivePill";
import { paletteOpened } from "./overlays";
import classes from "./TopBar.module.css";
import { ZoneSwitch } from "./ZoneSwitch";

const COMMAND = navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K";

export function TopBar({ onMenu }: { onMenu: () => void }) {
  return (
    <header className={classes.bar}>
      <ActionIcon className={classes.menu} aria-label="Open the menu" onClick={onMenu}>
        <IconMenu2 size={18} />
      </ActionIcon>
      <Breadcrumb />
      <div className={classes.end}>
        <button type="button" className={classes.search} onClick={() => paletteOpened.set(true)}>
          <IconSearch size={14} aria-hidden />
          <span>Search or jump to</span>
          <kbd>{COMMAND}</kbd>
        </button>
        <ZoneSwitch />
        <LivePill />
        <AccountMenu />
      </div>
    </header>
  );
}

function Breadcrumb() {
  const crumbs = useCrumbs();
  return (
    <nav aria-label="Where this page is" className={classes.crumbs}>
      <ol>
        {crumbs.map(({ word, to }, place) => (
          <li key={to}>
            {place === crumbs.length - 1 ? <span aria-current="page">{word}</span> : <Link to={to}>{word}</Link>}
          </li>
        ))}
      </ol>
    </nav>
  );
}
