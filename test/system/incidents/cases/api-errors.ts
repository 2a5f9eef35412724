import type { Incident } from '../incident.ts';

export const apiErrors: readonly Incident[] = [
  {
    alert: 'SvcApiErrors',
    severity: 'critical',
    speed: 12,
    intent: 'The database is away, so that requests are 503; it is back.',
    brings: [
      'SvcApiErrors',
      'SvcApiSlow',
      'SvcDatabaseLost',
      'SvcNotReady',
      'SvcControllersNotLed',
      'SvcControllersBehind',
    ],
    isDatabaseAway: true,
    provoke: async (site) => {
      await site.proxy.setMode({ type: 'refused' });
      return () => site.proxy.setMode({ type: 'open' });
    },
    look: (site) => site.untilMetric('http_server_request_duration_seconds_count{http_response_status_code="503"}'),
  },
];
