const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/**
 * A duration of `ms` milliseconds for people, with at most two units: `5s`, `3h12m`, `2y40d`. A clock may be one second
 * ahead; anything further in the future is `<invalid>`. Source: k8s.io/apimachinery/pkg/util/duration HumanDuration.
 */
export function humanDuration(ms: number): string {
  if (ms <= -2 * second) return '<invalid>';
  if (ms < 2 * minute) return `${Math.max(0, Math.trunc(ms / second))}s`;
  if (ms < 10 * minute) return twoUnits(ms, [minute, 'm'], [second, 's']);
  if (ms < 3 * hour) return `${Math.trunc(ms / minute)}m`;
  if (ms < 8 * hour) return twoUnits(ms, [hour, 'h'], [minute, 'm']);
  if (ms < 2 * day) return `${Math.trunc(ms / hour)}h`;
  if (ms < 8 * day) return twoUnits(ms, [day, 'd'], [hour, 'h']);
  if (ms < 2 * year) return `${Math.trunc(ms / day)}d`;
  if (ms < 8 * year) return twoUnits(ms, [year, 'y'], [day, 'd']);
  return `${Math.trunc(ms / year)}y`;
}

type Unit = readonly [ms: number, name: string];

/** A second part of zero is left out. */
function twoUnits(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.trunc((ms % large) / small);
  return `${Math.trunc(ms / large)}${largeName}${rest === 0 ? '' : `${rest}${smallName}`}`;
}
