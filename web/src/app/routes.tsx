/** Which address shows which page. */

import { createRootRoute, createRoute, createRouter, redirect } from "@tanstack/react-router";

import { AuditPage } from "../pages/audit/AuditPage";
import { auditFilters } from "../pages/audit/filters";
import { ClusterPage } from "../pages/cluster/ClusterPage";
import { JobPage } from "../pages/job/JobPage";
import type { JobFilters } from "../pages/jobs/filters";
import { JobsPage } from "../pages/jobs/JobsPage";
import { type NodeSearch, NodesPage } from "../pages/nodes/NodesPage";
import { OverviewPage } from "../pages/overview/OverviewPage";
import { type SignInSearch, SignInPage } from "../pages/sign-in/SignInPage";
import { SubmitPage, type SubmitSearch } from "../pages/submit/SubmitPage";
import { TeamsPage } from "../pages/teams/TeamsPage";
import { type WhatIfSearch, WhatIfPage } from "../pages/what-if/WhatIfPage";
import { isSignedIn } from "../session/session";
import { Broken } from "./Broken";
import { Frame } from "./Frame";
import { NotFound } from "./NotFound";

const root = createRootRoute({ notFoundComponent: NotFound });

/** What an address says. The router reads `39` and `true` as a number and a truth. */
function text(value: unknown): string | undefined {
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isPlain && value !== "" ? String(value) : undefined;
}

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: SignInPage,
  validateSearch: (search: Record<string, unknown>): SignInSearch => ({
    next: text(search["next"]),
    ended: text(search["ended"]),
  }),
});

/** Pages for those who are signed in. Others come back to the page once they are. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Frame,
  beforeLoad: ({ location }) => {
    if (!isSignedIn()) {
      redirect({ to: "/sign-in", search: { next: location.href }, throw: true });
    }
  },
});

const under = () => inside;

const jobs = createRoute({
  getParentRoute: under,
  path: "/jobs",
  component: JobsPage,
  validateSearch: (search: Record<string, unknown>): JobFilters => ({
    state: text(search["state"]),
    team: text(search["team"]),
    user: text(search["user"]),
    tier: text(search["tier"]),
    text: text(search["text"]),
    sort: text(search["sort"]),
  }),
});

const nodes = createRoute({
  getParentRoute: under,
  path: "/nodes",
  component: NodesPage,
  validateSearch: (search: Record<string, unknown>): NodeSearch => ({ node: text(search["node"]) }),
});

const tree = root.addChildren([
  signIn,
  inside.addChildren([
    createRoute({ getParentRoute: under, path: "/", component: OverviewPage }),
    createRoute({ getParentRoute: under, path: "/cluster", component: ClusterPage }),
    jobs,
    createRoute({ getParentRoute: under, path: "/jobs/$job", component: JobPage }),
    createRoute({ getParentRoute: under, path: "/teams", component: TeamsPage }),
    nodes,
    createRoute({
      getParentRoute: under,
      path: "/submit",
      component: SubmitPage,
      validateSearch: (search: Record<string, unknown>): SubmitSearch => ({ from: text(search["from"]) }),
    }),
    createRoute({
      getParentRoute: under,
      path: "/what-if",
      component: WhatIfPage,
      validateSearch: (search: Record<string, unknown>): WhatIfSearch => ({ run: text(search["run"]) }),
    }),
    createRoute({ getParentRoute: under, path: "/audit", component: AuditPage, validateSearch: auditFilters }),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  defaultPreload: "intent",
  defaultErrorComponent: Broken,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
