import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from "@tanstack/react-router";
import { basePath } from "./api/client";
import { queryClient } from "./api/queryClient";
import { meQuery } from "./api/session";
import { executionListQuery } from "./executions/executionListQuery";
import { jobListQuery } from "./jobs/jobListQuery";
import { parseSearch, stringifySearch, textParams } from "./list/searchParams";
import { prefetchList } from "./list/usePagedList";
import { NotFound } from "./pages/NotFound";
import { PageFailed } from "./pages/PageFailed";
import { SignedIn } from "./shell/SignedIn";

/** Every page of the dashboard. The server answers the first part of each path: see SECTIONS in dashboard_pages.py. */

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    /** The page's word in the breadcrumb. */
    crumb?: string | ((params: Record<string, string>) => string);
  }
  interface Register {
    router: typeof router;
  }
}

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: textParams("next"),
  component: lazyRouteComponent(() => import("./pages/SignInPage")),
});

/** All other pages need somebody who is signed in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: SignedIn,
  errorComponent: PageFailed,
  beforeLoad: async ({ location }) => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (!me) throw redirect({ to: "/sign-in", search: { next: location.href } });
  },
});

const overview = createRoute({
  getParentRoute: () => inside,
  path: "/",
  staticData: { crumb: "Overview" },
  validateSearch: textParams("range", "from", "until", "by"),
  component: lazyRouteComponent(() => import("./pages/OverviewPage")),
});

const jobs = createRoute({
  getParentRoute: () => inside,
  path: "/jobs",
  staticData: { crumb: "Jobs" },
});

const jobList = createRoute({
  getParentRoute: () => jobs,
  path: "/",
  validateSearch: textParams(
    "q", "status", "health", "task", "queue", "priority", "tag", "owner", "next", "recurring", "due_after", "due_before", "sort",
  ),
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => prefetchList(jobListQuery(deps)),
  component: lazyRouteComponent(() => import("./pages/JobsPage")),
});

const newJob = createRoute({
  getParentRoute: () => jobs,
  path: "/new",
  staticData: { crumb: "New job" },
  validateSearch: textParams("task", "copy"),
  component: lazyRouteComponent(() => import("./pages/NewJobPage")),
});

const job = createRoute({
  getParentRoute: () => jobs,
  path: "/$id",
  staticData: { crumb: (params) => params["id"] ?? "" },
  validateSearch: textParams("tab", "status", "node", "view", "fold"),
  component: lazyRouteComponent(() => import("./pages/JobPage")),
});

const executions = createRoute({
  getParentRoute: () => inside,
  path: "/executions",
  staticData: { crumb: "Executions" },
});

const executionList = createRoute({
  getParentRoute: () => executions,
  path: "/",
  validateSearch: textParams(
    "status", "waiting_for", "job", "task", "queue", "worker", "tag", "since", "until", "error",
    "timed_out", "retrying", "blocked", "not_taken", "longer_than", "later_than", "sort",
  ),
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => prefetchList(executionListQuery(deps)),
  component: lazyRouteComponent(() => import("./pages/ExecutionsPage")),
});

const execution = createRoute({
  getParentRoute: () => executions,
  path: "/$id",
  staticData: { crumb: (params) => params["id"] ?? "" },
  validateSearch: textParams("attempt", "log"),
  component: lazyRouteComponent(() => import("./pages/ExecutionPage")),
});

const calendar = createRoute({
  getParentRoute: () => inside,
  path: "/calendar",
  staticData: { crumb: "Calendar" },
  validateSearch: textParams("from", "scale", "job", "tag", "task", "queue", "at", "view"),
  component: lazyRouteComponent(() => import("./pages/CalendarPage")),
});

const workflows = createRoute({
  getParentRoute: () => inside,
  path: "/workflows",
  staticData: { crumb: "Workflows" },
});

const workflowList = createRoute({
  getParentRoute: () => workflows,
  path: "/",
  validateSearch: textParams("q"),
  component: lazyRouteComponent(() => import("./pages/WorkflowsPage")),
});

const workflow = createRoute({
  getParentRoute: () => workflows,
  path: "/$id",
  staticData: { crumb: (params) => params["id"] ?? "" },
  validateSearch: textParams("node", "view", "fold"),
  component: lazyRouteComponent(() => import("./pages/WorkflowPage")),
});

const deadLetters = createRoute({
  getParentRoute: () => inside,
  path: "/dead-letters",
  staticData: { crumb: "Dead letters" },
  validateSearch: textParams("task", "queue", "job", "error", "fingerprint", "since", "until", "view"),
  component: lazyRouteComponent(() => import("./pages/DeadLettersPage")),
});

const queues = createRoute({
  getParentRoute: () => inside,
  path: "/queues",
  staticData: { crumb: "Queues" },
  validateSearch: textParams("q", "queue"),
  component: lazyRouteComponent(() => import("./pages/QueuesPage")),
});

const pings = createRoute({
  getParentRoute: () => inside,
  path: "/pings",
  staticData: { crumb: "Pings" },
});

const pingList = createRoute({
  getParentRoute: () => pings,
  path: "/",
  validateSearch: textParams("q", "status"),
  component: lazyRouteComponent(() => import("./pages/PingsPage")),
});

const newPing = createRoute({
  getParentRoute: () => pings,
  path: "/new",
  staticData: { crumb: "New ping" },
  component: lazyRouteComponent(() => import("./pages/NewPingPage")),
});

const ping = createRoute({
  getParentRoute: () => pings,
  path: "/$name",
  staticData: { crumb: (params) => params["name"] ?? "" },
  validateSearch: textParams("tab"),
  component: lazyRouteComponent(() => import("./pages/PingPage")),
});

const notifications = createRoute({
  getParentRoute: () => inside,
  path: "/notifications",
  staticData: { crumb: "Notifications" },
});

const notificationList = createRoute({
  getParentRoute: () => notifications,
  path: "/",
  validateSearch: textParams("channel", "kind", "status", "since", "until"),
  component: lazyRouteComponent(() => import("./pages/NotificationsPage")),
});

const notification = createRoute({
  getParentRoute: () => notifications,
  path: "/$id",
  staticData: { crumb: (params) => params["id"] ?? "" },
  component: lazyRouteComponent(() => import("./pages/NotificationPage")),
});

const notificationRules = createRoute({
  getParentRoute: () => inside,
  path: "/notification-rules",
  staticData: { crumb: "Notification rules" },
});

const notificationRuleList = createRoute({
  getParentRoute: () => notificationRules,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/NotificationRulesPage")),
});

const newNotificationRule = createRoute({
  getParentRoute: () => notificationRules,
  path: "/new",
  staticData: { crumb: "New rule" },
  component: lazyRouteComponent(() => import("./pages/NewNotificationRulePage")),
});

const notificationRule = createRoute({
  getParentRoute: () => notificationRules,
  path: "/$name",
  staticData: { crumb: (params) => params["name"] ?? "" },
  component: lazyRouteComponent(() => import("./pages/NotificationRulePage")),
});

const channels = createRoute({
  getParentRoute: () => inside,
  path: "/channels",
  staticData: { crumb: "Channels" },
});

const channelList = createRoute({
  getParentRoute: () => channels,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/ChannelsPage")),
});

const newChannel = createRoute({
  getParentRoute: () => channels,
  path: "/new",
  staticData: { crumb: "New channel" },
  validateSearch: textParams("kind"),
  component: lazyRouteComponent(() => import("./pages/NewChannelPage")),
});

const channel = createRoute({
  getParentRoute: () => channels,
  path: "/$name",
  staticData: { crumb: (params) => params["name"] ?? "" },
  validateSearch: textParams("tab"),
  component: lazyRouteComponent(() => import("./pages/ChannelPage")),
});

const workers = createRoute({
  getParentRoute: () => inside,
  path: "/workers",
  staticData: { crumb: "Workers" },
  validateSearch: textParams("q", "status", "worker", "queue", "task", "label", "host", "version", "sort"),
  component: lazyRouteComponent(() => import("./pages/WorkersPage")),
});

const tasks = createRoute({
  getParentRoute: () => inside,
  path: "/tasks",
  staticData: { crumb: "Tasks" },
  validateSearch: textParams("q", "state"),
  component: lazyRouteComponent(() => import("./pages/TasksPage")),
});

const breakers = createRoute({
  getParentRoute: () => inside,
  path: "/breakers",
  staticData: { crumb: "Breakers" },
  validateSearch: textParams("q"),
  component: lazyRouteComponent(() => import("./pages/BreakersPage")),
});

const cluster = createRoute({
  getParentRoute: () => inside,
  path: "/cluster",
  staticData: { crumb: "Cluster" },
  component: lazyRouteComponent(() => import("./pages/ClusterPage")),
});

const events = createRoute({
  getParentRoute: () => inside,
  path: "/events",
  staticData: { crumb: "Events" },
  validateSearch: textParams("kind", "job", "task", "queue", "tag", "pulse"),
  component: lazyRouteComponent(() => import("./pages/EventsPage")),
});

const settings = createRoute({
  getParentRoute: () => inside,
  path: "/settings",
  staticData: { crumb: "Keys and settings" },
  validateSearch: textParams("tab"),
  component: lazyRouteComponent(() => import("./pages/SettingsPage")),
});

const tree = root.addChildren([
  signIn,
  inside.addChildren([
    overview,
    jobs.addChildren([jobList, newJob, job]),
    executions.addChildren([executionList, execution]),
    calendar,
    workflows.addChildren([workflowList, workflow]),
    deadLetters,
    pings.addChildren([pingList, newPing, ping]),
    notifications.addChildren([notificationList, notification]),
    notificationRules.addChildren([notificationRuleList, newNotificationRule, notificationRule]),
    channels.addChildren([channelList, newChannel, channel]),
    queues,
    workers,
    tasks,
    breakers,
    cluster,
    events,
    settings,
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  basepath: basePath || "/",
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultErrorComponent: PageFailed,
  scrollRestoration: true,
});

/** Loads the code of the page that is opened first, and the rows of a list, while the server says who is signed in. */
export function loadFirstPage() {
  void queryClient.prefetchQuery(meQuery);
  for (const { routeId, search } of router.matchRoutes(router.latestLocation)) {
    void router.loadRouteChunk(router.routesById[routeId as keyof typeof router.routesById]);
    if (routeId === jobList.id) prefetchList(jobListQuery(search));
    if (routeId === executionList.id) prefetchList(executionListQuery(search));
  }
}
