/** What a job is called: its name; for one that a task declares, the task; else its key, its task or at last its id. */
export function jobTitle(job: { name?: string | null; key?: string | null; task?: string | null; id: string }): string {
  return job.name ?? job.key?.replace(/^task:/, "") ?? job.task ?? job.id;
}
