/** Options without the limits that many requests from one address and of one user would reach at once. */
export const unlimitedAccess: readonly string[] = [
  '--svc.access.throttle.anonymous=1000000000',
  '--svc.access.throttle.user=1000000000',
  '--svc.access.login.ip-limit=1000000',
  '--svc.http.max-wrong-credentials=0',
];
