import { Skeleton } from "@mantine/core";
import { IconAlertTriangle, IconClockExclamation } from "@tabler/icons-react";
import { Problem } from "../parts/Problem";
import { dueTimeText } from "../time/dueTimeText";
import { useNow } from "../time/now";
import { TimeText } from "../time/TimeText";
import { MY_ZONE } from "../time/zone";
import type { JobDraft } from "./jobDraft";
import { LoadAround } from "./LoadAround";
import classes from "./JobForm.module.css";
import { type SchedulePreviewData, useSchedulePreview } from "./useSchedulePreview";

/** What a schedule means: in words, as times in the job's zone and the viewer's, and what to beware of. `showsLoad`: how
 * much else is due then. */
export function SchedulePreview({ draft, showsLoad = true }: { draft: JobDraft; showsLoad?: boolean }) {
  const preview = useSchedulePreview(draft);
  if (!draft.schedule.trim() && !draft.scheduleJson) {
    return <p className={classes.words}>It runs once, as soon as it is created.</p>;
  }
  if (preview.error) return <Problem error={preview.error} />;
  if (!preview.data) return <Skeleton height={160} />;
  return (
    <div aria-live="polite" aria-busy={preview.isPlaceholderData} className={classes.preview}>
      <p className={classes.words}>{sentence(preview.data.words)}</p>
      <Warnings warnings={preview.data.warnings} />
      <Times preview={preview.data} zone={zoneIn(preview.data, draft)} />
      {showsLoad && preview.data.times[0] && <LoadAround at={preview.data.times[0].at} zone={zoneIn(preview.data, draft)} />}
    </div>
  );
}

function zoneIn(preview: SchedulePreviewData, draft: JobDraft): string {
  const zone = (preview.canonical as Record<string, unknown>)["timezone"];
  return typeof zone === "string" ? zone : draft.timezone || "UTC";
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function Warnings({ warnings }: { warnings: readonly string[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul className={classes.warnings} aria-label="Warnings">
      {warnings.map((words) => (
        <li key={words}>
          <IconAlertTriangle size={14} aria-hidden /> {sentence(words)}
        </li>
      ))}
    </ul>
  );
}

function Times({ preview, zone }: { preview: SchedulePreviewData; zone: string }) {
  const both = zone !== MY_ZONE;
  const now = useNow(() => 600_000);
  return (
    <table className={classes.times}>
      <caption className="visually-hidden">The next times</caption>
      <thead>
        <tr>
          <th scope="col">Next</th>
          <th scope="col">{zone}</th>
          {both && <th scope="col">You, {MY_ZONE}</th>}
        </tr>
      </thead>
      <tbody>
        {preview.times.map(({ at, note }) => (
          <tr key={at}>
            <td>
              <TimeText at={at} jobZone={zone} />
            </td>
            <td>
              {dueTimeText(new Date(at), zone, now)}
              {note && (
                <span className={classes.note}>
                  <IconClockExclamation size={14} aria-hidden /> {note}
                </span>
              )}
            </td>
            {both && <td>{dueTimeText(new Date(at), MY_ZONE, now)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
