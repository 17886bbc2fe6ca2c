/** Where to go after signing in: only within the dashboard, whatever the address says. */
export function safeDestination(next: string | undefined): string {
  return next && /^\/(?![/\\])/.test(next) && !next.startsWith("/sign-in") ? next : "/";
}
