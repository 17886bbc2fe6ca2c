import { useNavigate } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import type { Filters } from "../list/FilterBar";
import { usePagedList } from "../list/usePagedList";
import type { Notification } from "./notificationColumns";
import { notificationQuery } from "./notificationFilters";
import classes from "./Notifications.module.css";

interface NotificationTableProps {
  /** Under which the browser remembers its columns. */
  name: string;
  label: string;
  /** Above the rows, where the page does not say what they are. */
  title?: string;
  columns: readonly Column<Notification>[];
  filters: Filters;
  empty: React.ReactNode;
}

const rowId = ({ id }: Notification) => id;

/** What channels were told, latest first. */
export function NotificationTable({ name, label, title, columns, filters, empty }: NotificationTableProps) {
  const navigate = useNavigate();
  const list = usePagedList<Notification>({
    queryKey: ["notifications", "list", filters],
    fetchPage: (cursor) => {
      const query = { ...notificationQuery(filters, new Date()), limit: 100, ...(cursor ? { cursor } : {}) };
      return answer(api.GET("/v1/notifications", { params: { query: query as never } }));
    },
    rowId,
    holdsNew: true,
    refetchInterval: 5_000, // that a message was delivered is no event
  });
  return (
    <DataTable
      name={name}
      label={label}
      noun="notification"
      columns={columns}
      list={list}
      rowId={rowId}
      onOpen={({ id }) => void navigate({ to: "/notifications/$id", params: { id } })}
      empty={empty}
      {...(title ? { toolbar: <h2 className={classes.title}>{title}</h2> } : {})}
    />
  );
}
