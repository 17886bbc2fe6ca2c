import { Link } from "@tanstack/react-router";
import { EmptyState } from "../parts/EmptyState";

export function NotFound() {
  return <EmptyState title="There is no such page" text={<Link to="/">To the overview</Link>} />;
}
