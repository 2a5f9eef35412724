import { pino, type Logger } from 'pino';
import { Auditor, type AuditOutput } from '#pkg/apiserver/index';
import { AuditPolicy, AuditPolicyError, parseAuditPolicy } from '#pkg/audit/index';
import type { Store } from '#pkg/storage/index';
import type { PlatformMetrics } from '../metrics/platform-metrics.ts';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import { AuditFile, maxWaitingBytes } from './audit-file.ts';
import { readOptionFile } from './read-option-file.ts';
import type { Teardown } from '../process/teardown.ts';

const maxFileBytes = 1024 * 1024;

/** Starts to record by the configured policy. @throws OperatorError */
export async function openAudit(
  options: Options,
  {
    store,
    output,
    log,
    metrics,
    teardown,
  }: {
    store: Store;
    output: AuditOutput | undefined;
    log: Logger;
    metrics: PlatformMetrics;
    teardown: Teardown;
  },
): Promise<Auditor> {
  const policy = await readAuditPolicy(options);
  const auditor = new Auditor({ policy, log: store.audit, logger: log, onDropped: metrics.auditDropped, output });
  metrics.registerAudit(() => auditor.waiting);
  auditor.start();
  teardown.add('audit', () => auditor.stop());
  return auditor;
}

/**
 * Where events go besides the database; undefined if nowhere. Call it before the store is opened, whose last writes have
 * events too. @throws OperatorError
 */
export async function openAuditOutput(
  options: Options,
  { log, metrics, teardown }: { log: Logger; metrics: PlatformMetrics; teardown: Teardown },
): Promise<AuditOutput | undefined> {
  const path = options['svc.audit.log-file'];
  if (path === undefined) return undefined;
  if (path === '-') {
    // As the log is written: whole lines, in turns. What cannot be written waits for the next event.
    const stdout = pino.destination({ dest: 1, sync: true, maxLength: maxWaitingBytes });
    stdout.on('error', () => {});
    stdout.on('drop', () => metrics.auditFileDropped(1));
    return (event) => void stdout.write(`${event}\n`);
  }
  const file = await AuditFile.open(path, { log, onDropped: metrics.auditFileDropped });
  teardown.add('audit file', () => file.close());
  return file.write;
}

/** The policy of `svc.audit.policy-file`. @throws OperatorError that names the option */
export async function readAuditPolicy(options: Options): Promise<AuditPolicy> {
  const file = options['svc.audit.policy-file'];
  if (file === undefined) return AuditPolicy.default;
  const text = await readOptionFile('svc.audit.policy-file', file, maxFileBytes);
  if (text === undefined)
    throw new OperatorError(`svc.audit.policy-file is too large: ${file} may have at most 1 MiB.`);
  try {
    return parseAuditPolicy(text);
  } catch (error) {
    if (!(error instanceof AuditPolicyError)) throw error;
    throw new OperatorError(`svc.audit.policy-file holds no policy: ${file}: ${error.message}.`, { cause: error });
  }
}
