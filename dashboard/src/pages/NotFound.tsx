import { Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { EmptyState } from "../parts/EmptyState";

export function NotFound() {
  return (
    <main>
      <EmptyState title={<Title order={1}>There is no such page</Title>} text={<Link to="/">To the overview</Link>} />
    </main>
  );
}
