import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { CodeBlock } from "../parts/CodeBlock";
import { confirm } from "../parts/confirm";
import { useAction } from "../parts/useAction";
import type { Ping } from "./pingColumns";
import { keepPingUrl, pingLines, usePingUrl } from "./pingUrl";
import classes from "./Pings.module.css";

/** The lines that report for a ping, with its URL while that is known. */
export function PingReports({ ping }: { ping: Ping }) {
  const { url, isWhole } = usePingUrl(ping.name, ping.token_begins);
  const mayWrite = useMay("write");
  return (
    <>
      <p className={classes.where} role={isWhole ? "status" : undefined}>
        {isWhole
          ? "Copy its URL now: it is not shown again after this page is loaded anew."
          : "Its URL was shown when it was made, and only its beginning is known here."}
      </p>
      <div className={classes.line}>
        <CodeBlock code={url} what="the URL" wrap />
      </div>
      {pingLines(url, ping.schedule).map(({ where, code }) => (
        <div key={where} className={classes.line}>
          <p className={classes.where}>{where}</p>
          <CodeBlock code={code} what={`the line: ${where}`} wrap />
        </div>
      ))}
      {mayWrite && <NewUrl ping={ping} />}
    </>
  );
}

function NewUrl({ ping }: { ping: Ping }) {
  const queries = useQueryClient();
  const renewing = useAction({
    act: (name: string) => answer(api.POST("/v1/pings/{name}/token", { params: { path: { name } } })),
    done: () => `${ping.name} has another URL`,
    changes: ["pings"],
  });
  const ask = async () => {
    const yes = await confirm({
      title: `Another URL for ${ping.name}?`,
      effect: "The URL that it has now stops working at once: whatever calls it must be changed.",
      action: "Make another URL",
      danger: true,
    });
    if (yes) renewing.mutate(ping.name, { onSuccess: ({ name, url }) => keepPingUrl(queries, name, url) });
  };
  return (
    <Button size="compact-sm" variant="default" loading={renewing.isPending} onClick={() => void ask()}>
      Make another URL
    </Button>
  );
}
