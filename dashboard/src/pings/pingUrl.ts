import { type QueryClient, useQuery } from "@tanstack/react-query";
import { basePath } from "../api/client";

/** The server tells the URL of a ping once. It is kept in memory until the page is loaded anew, never in the browser. */
const keyOf = (name: string) => ["ping-url", name];

export function keepPingUrl(queries: QueryClient, name: string, url: string | null): void {
  if (url) queries.setQueryData(keyOf(name), url);
}

/** The URL if it was made in this page; else with a placeholder for what is not known of its token. */
export function usePingUrl(name: string, tokenBegins: string): { url: string; isWhole: boolean } {
  const { data } = useQuery<string>({ queryKey: keyOf(name), queryFn: () => "", enabled: false, gcTime: Infinity });
  return data ? { url: data, isWhole: true } : { url: `${location.origin}${basePath}/ping/${tokenBegins}…`, isWhole: false };
}

export interface Line {
  where: string;
  code: string;
}

/** How something that runs elsewhere reports: lines to copy. */
export function pingLines(url: string, schedule: Record<string, unknown>): Line[] {
  const cron = typeof schedule["cron"] === "string" ? schedule["cron"] : "0 2 * * *";
  return [
    { where: "crontab", code: `${cron}  backup.sh; curl -fsS -m 10 --retry 5 ${url}/$?` },
    { where: "with its run time", code: `curl -fsS -m 10 ${url}/start; backup.sh; curl -fsS -m 10 --retry 5 ${url}/$?` },
    {
      where: "with the end of its log",
      code: `backup.sh >backup.log 2>&1; S=$?; tail -c 9000 backup.log | curl -fsS -m 10 --retry 5 --data-binary @- ${url}/$S`,
    },
    { where: "Python", code: `urllib.request.urlopen("${url}", timeout=10)` },
    { where: "PowerShell", code: `Invoke-RestMethod -TimeoutSec 10 ${url}` },
  ];
}
