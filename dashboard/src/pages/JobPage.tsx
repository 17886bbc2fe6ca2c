import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef } from "react";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import classes from "../job/Job.module.css";
import { JobActions } from "../job/JobActions";
import { JobHistory } from "../job/JobHistory";
import { JobOverview } from "../job/JobOverview";
import { JobUpcoming } from "../job/JobUpcoming";
import type { Job } from "../job/useJobActions";
import { jobTitle } from "../parts/jobTitle";
import { Answer } from "../parts/Answer";
import { PageHeader } from "../parts/PageHeader";
import { HealthBadge, JobBadge } from "../parts/StatusBadge";
import { ScheduleWords, zoneOf } from "../time/ScheduleWords";
import { TimeText } from "../time/TimeText";

const JobEdit = lazy(async () => ({ default: (await import("../job/JobEdit")).JobEdit }));
const JobGraph = lazy(async () => ({ default: (await import("../graph/JobGraph")).JobGraph }));
const JobChanges = lazy(async () => ({ default: (await import("../job/JobChanges")).JobChanges }));

const route = getRouteApi("/inside/jobs/$id");

const TABS = [
  { tab: undefined, word: "Overview" },
  { tab: "executions", word: "Executions" },
  { tab: "upcoming", word: "Upcoming" },
  { tab: "graph", word: "Graph" },
  { tab: "edit", word: "Edit" },
  { tab: "changes", word: "Changes" },
] as const;

export default function JobPage() {
  const { id } = route.useParams();
  const job = useQuery({
    queryKey: ["jobs", "one", id],
    queryFn: () => answer(api.GET("/v1/jobs/{id}", { params: { path: { id } } })),
  });
  return <Answer query={job}>{(data) => <JobTabs job={data} />}</Answer>;
}

function JobTabs({ job }: { job: Job }) {
  const { tab } = route.useSearch();
  const mayWrite = useMay("write");
  const shown = TABS.filter((each) => each.tab !== "edit" || mayWrite);
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    tabs.current?.querySelector("[data-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [tab]);
  return (
    <>
      <PageHeader
        title={jobTitle(job)}
        beside={
          <>
            <JobBadge status={job.status} />
            <HealthBadge health={job.health} failures={job.failures_in_a_row} />
          </>
        }
        sentence={<Sentence job={job} />}
        actions={mayWrite && <JobActions job={job} />}
      />
      <nav ref={tabs} className={classes.tabs} aria-label="Parts of this job">
        {shown.map((each) => (
          <Link key={each.word} to="/jobs/$id" params={{ id: job.id }} search={each.tab ? { tab: each.tab } : {}} className={classes.tab} activeOptions={{ exact: true, includeSearch: true }} data-current={tab === each.tab || undefined}>
            {each.word}
          </Link>
        ))}
      </nav>
      <Suspense>
        <Tab job={job} tab={mayWrite || tab !== "edit" ? tab : undefined} />
      </Suspense>
    </>
  );
}

function Tab({ job, tab }: { job: Job; tab: string | undefined }) {
  switch (tab) {
    case "executions":
      return <JobHistory job={job} />;
    case "upcoming":
      return <JobUpcoming job={job} />;
    case "graph":
      return <JobGraph id={job.id} />;
    case "edit":
      return <JobEdit job={job} />;
    case "changes":
      return <JobChanges job={job} />;
    default:
      return <JobOverview job={job} />;
  }
}

function Sentence({ job }: { job: Job }) {
  const zone = zoneOf(job.schedule);
  return (
    <>
      <ScheduleWords words={job.schedule_words.charAt(0).toUpperCase() + job.schedule_words.slice(1)} schedule={job.schedule} />
      {job.next_run_at && job.status === "active" && (
        <>
          {". Next "}
          <TimeText at={job.next_run_at} jobZone={zone} />
        </>
      )}
      {job.running > 0 && `. ${job.running} running`}
      {"."}
    </>
  );
}
