import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import { ChannelLink } from "../channels/channelColumns";
import { Answer } from "../parts/Answer";
import { newsWord } from "./newsWords";
import classes from "./Notifications.module.css";

type Applied = Schemas["AppliedNotification"];

/** Who is told what about a job, and why; also what is not told although somebody asked for it. */
export function AppliedNotifications({ job }: { job: Schemas["JobView"] }) {
  const mayWrite = useMay("write");
  const applied = useQuery({
    // Its own entries, tags and queue decide: a change of them is asked for anew.
    queryKey: ["channels", "applied", job.id, job.version],
    queryFn: async () => (await answer(api.GET("/v1/jobs/{id}/notify", { params: { path: { id: job.id } } }))).items,
  });
  return (
    <Answer query={applied}>
      {(items) =>
        items.length === 0 ? (
          <p className={classes.hint}>
            Nobody.{" "}
            {mayWrite && (
              <>
                <Link to="/jobs/$id" params={{ id: job.id }} search={{ tab: "edit" }}>Edit the job</Link>, or make <Link to="/notification-rules">a rule</Link> for many.
              </>
            )}
          </p>
        ) : (
          <table className={classes.applied}>
            <thead>
              <tr>
                <th scope="col">Of</th>
                <th scope="col">Channel</th>
                <th scope="col">Why</th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <tr key={`${item.on} ${item.channel}`} data-untold={!item.told || undefined}>
                  <td>{newsWord(item.on)}</td>
                  <td>
                    <ChannelLink name={item.channel} />
                  </td>
                  <td>
                    <Why item={item} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Answer>
  );
}

/** The words of the API, with the name of the rule as a link. */
function Why({ item: { told, why, rule } }: { item: Applied }) {
  const begin = told ? "" : "Not told: ";
  const marker = rule && `the rule ${rule}`;
  if (!rule || !marker || !why.startsWith(marker)) return <>{begin + why}</>;
  return (
    <>
      {begin}the rule{" "}
      <Link to="/notification-rules/$name" params={{ name: rule }}>
        {rule}
      </Link>
      {why.slice(marker.length)}
    </>
  );
}
