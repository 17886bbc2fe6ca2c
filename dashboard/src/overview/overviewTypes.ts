import type { Schemas } from "../api/client";

export type Overview = Schemas["OverviewView"];
export type FailingJob = Schemas["FailingJob"];
export type Point = Schemas["StatisticsPoint"];
export type Execution = Schemas["ExecutionView"];
export type DueTime = Schemas["DueTime"];
export type DueTimeCount = Schemas["DueTimeCount"];
export type ErrorGroup = Schemas["ErrorGroupView"];
export type Breaker = Schemas["BreakerView"];
export type Queue = Schemas["QueueView"];
export type Worker = Schemas["WorkerView"];
