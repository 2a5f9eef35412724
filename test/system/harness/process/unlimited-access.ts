/** Options without limits that many requests of one address and user would reach immediately. */
export const unlimitedAccess: readonly string[] = [
  '--svc.access.throttle.anonymous=1000000000',
  '--svc.access.throttle.user=1000000000',
  '--svc.access.login.ip-limit=1000000',
  '--svc.http.max-wrong-credentials=0',
];
