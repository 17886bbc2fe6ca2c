import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { graphSentence } from "../graph/graphModel";
import { JobGraph } from "../graph/JobGraph";
import { useGraph } from "../graph/useGraph";
import { jobTitle } from "../parts/jobTitle";
import { PageHeader } from "../parts/PageHeader";

const route = getRouteApi("/inside/workflows/$id");

/** One workflow, told by one of its jobs. */
export default function WorkflowPage() {
  const { id } = route.useParams();
  const graph = useGraph(id);
  const job = useQuery({
    queryKey: ["jobs", "one", id],
    queryFn: () => answer(api.GET("/v1/jobs/{id}", { params: { path: { id } } })),
  });
  return (
    <>
      <PageHeader title={job.data ? `Workflow of ${jobTitle(job.data)}` : "Workflow"} sentence={graph.data && graphSentence(graph.data.items)} />
      <JobGraph id={id} looksForFailures />
    </>
  );
}
