import type { Schemas } from "../api/client";

export type Overview = Schemas["OverviewView"];
export type Point = Schemas["StatisticsPoint"];
export type NextRun = Schemas["NextRun"];
export type DueTimeCount = Schemas["DueTimeCount"];
export type Ping = Schemas["PingView"];
export type Queue = Schemas["QueueView"];
export type Channel = Schemas["ChannelView"];
