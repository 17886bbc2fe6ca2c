/** "1 execution runs now." */
export function runningWords({ running }: { running: number }): string {
  return running === 1 ? "1 execution runs now." : `${running.toLocaleString("en")} executions run now.`;
}
