const systemCode = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOENT|EHOSTUNREACH|ENETUNREACH|EAI_)/;
/** Of `pg` itself, which gives them no code. */
const lost = /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout|Client was closed|Cannot use a pool after calling end)/;

/** Did a statement fail because the database does not answer, or not in time, whatever was asked? Source: PostgreSQL's appendix A, error codes. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  if (typeof code !== 'string') return lost.test(error.message);
  if (systemCode.test(code)) return true;
  return severity !== undefined && (severity === 'FATAL' || severity === 'PANIC' || /^(?:08|53|57P|57014|55P03|40P01|25006)/.test(code));
}
