import { ActionIcon } from "@mantine/core";
import { IconLayoutSidebarLeftCollapse, IconLayoutSidebarLeftExpand } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useMay } from "../api/session";
import { DESTINATIONS, type Destination } from "./navigation";
import classes from "./Rail.module.css";
import mark from "./mark.svg";

interface RailProps {
  collapsed: boolean;
  onCollapse?: () => void;
  /** Closes the drawer on phones. */
  onGo?: () => void;
}

export function Rail({ collapsed, onCollapse, onGo }: RailProps) {
  const isAdmin = useMay("admin");
  const groups = (["work", "notifications", "machines", "settings"] as const).map((group) =>
    DESTINATIONS.filter((each) => each.group === group && (group !== "settings" || isAdmin)),
  );
  return (
    <nav className={classes.rail} data-collapsed={collapsed || undefined} aria-label="Pages">
      <Link to="/" className={classes.brand} onClick={onGo} aria-label="Tickwork, overview">
        <img src={mark} alt="" width={22} height={22} />
        <span className={classes.word}>Tickwork</span>
      </Link>
      {groups.map((pages) => (
        <ul key={pages[0]?.group ?? "none"} className={classes.group}>
          {pages.map((page) => (
            <li key={page.to}>
              <RailLink page={page} collapsed={collapsed} onGo={onGo} />
            </li>
          ))}
        </ul>
      ))}
      {onCollapse && (
        <div className={classes.foot}>
          <ActionIcon aria-label={collapsed ? "Widen the rail" : "Narrow the rail"} onClick={onCollapse}>
            {collapsed ? <IconLayoutSidebarLeftExpand size={18} /> : <IconLayoutSidebarLeftCollapse size={18} />}
          </ActionIcon>
        </div>
      )}
    </nav>
  );
}

function RailLink({ page, collapsed, onGo }: { page: Destination; collapsed: boolean; onGo: (() => void) | undefined }) {
  const Icon = page.icon;
  return (
    <Link
      to={page.to}
      className={classes.link}
      activeOptions={{ exact: page.to === "/", includeSearch: false }}
      onClick={onGo}
      data-tip={collapsed ? page.word : undefined}
    >
      <Icon size={18} stroke={1.6} aria-hidden />
      <span className={classes.word}>{page.word}</span>
    </Link>
  );
}
