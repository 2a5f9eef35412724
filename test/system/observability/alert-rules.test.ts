import { expect, test } from '@jest/globals';
import type { Client } from 'pg';
import { databaseFailures, type DatabaseFailure, type DatabaseObserver } from '#pkg/database/index';
import { observeStatements } from '../../../pkg/database/database-observer.ts';
import { readRules } from '../harness/alerts/alert-rules.ts';

/** These are retried; SvcApiErrors covers those that users notice. */
const withoutAlert: ReadonlySet<DatabaseFailure> = new Set(['lock_timeout', 'statement_timeout']);

const alerts = (await readRules()).filter(({ alert }) => alert !== undefined);

/** The patterns of the alerts' selectors for a label. */
function selected(label: string): RegExp[] {
  const selector = new RegExp(`\\b${label}=~?"([^"]+)"`, 'g');
  return alerts.flatMap(({ expr }) =>
    [...expr.matchAll(selector)].map(([, pattern]) => new RegExp(`^(?:${pattern})$`)),
  );
}

const isSelected = (label: string, value: string): boolean => selected(label).some((pattern) => pattern.test(value));

const answered = (code: string, severity: string): Error => Object.assign(new Error('refused'), { code, severity });

/** The name and type under which such a failed statement is counted. */
async function countedAs(thrown: Error): Promise<{ failure?: string; errorType?: string | undefined }> {
  const counted: { failure?: string; errorType?: string | undefined } = {};
  const observer: DatabaseObserver = {
    statement: (_operation, _summary, _ms, errorType) => void (counted.errorType = errorType),
    failed: (failure) => void (counted.failure = failure),
    waited: () => {},
    timedOut: () => {},
  };
  const client = { query: (): Promise<never> => Promise.reject(thrown) } as unknown as Client;
  observeStatements(client, observer);
  await client.query('SELECT').catch(() => undefined);
  return counted;
}

/** Only counted for statements, because another alert covers the pool's connections. */
const ofStatements: readonly [DatabaseFailure, Error][] = [
  ['connection_lost', new Error('Connection terminated unexpectedly')],
  ['connection_lost', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
  ...['08006', '25P03', '25P04', '57P04', '57P05'].map((code): [DatabaseFailure, Error] => [
    'connection_lost',
    answered(code, 'FATAL'),
  ]),
  ['no_answer', new Error('Query read timeout')],
];

test.each(ofStatements)('%s has its alert, in every place: %s', async (name, error) => {
  const { failure, errorType } = await countedAs(error);
  expect(failure).toBe(name);
  expect(isSelected('error_type', errorType!)).toBe(true);
});

test.each(
  databaseFailures.filter((name) => !withoutAlert.has(name) && !ofStatements.some(([other]) => other === name)),
)('%s has its alert', (name) => {
  expect(isSelected('failure', name)).toBe(true);
});
