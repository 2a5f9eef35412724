import { expect, test } from '@jest/globals';
import { maxReconcileFailures, ReconcileFailures } from './reconcile-failures.ts';

const failure = (
  request: string,
  attempt: number,
): { controller: string; request: string; attempt: number; error: unknown } => ({
  controller: 'c',
  request,
  attempt,
  error: new Error(`${request} ${attempt}`),
});

test('repeated failures are reported, the last first, until a success', () => {
  let changes = 0;
  const failures = new ReconcileFailures(() => (changes += 1));
  for (const attempt of [1, 2]) failures.note(failure('/a', attempt));
  expect([failures.summary, changes]).toEqual([undefined, 0]);
  failures.note(failure('/a', 3));
  failures.note(failure('/b', 3));
  failures.note(failure('/a', 4));
  expect([failures.summary, changes]).toEqual([{ objects: 2, since: expect.any(Number), last: failure('/a', 4) }, 3]);
  failures.clear('c', '/a');
  failures.clear('other', '/b');
  expect(failures.summary).toMatchObject({ objects: 1, last: { request: '/b' } });
  failures.clear('c', '/b');
  expect([failures.summary, changes]).toEqual([undefined, 5]);
});

test('a lasting failure is reported at once, and one controller can be cleared alone', () => {
  const failures = new ReconcileFailures();
  failures.note({ ...failure('/a', 1), isLasting: true });
  failures.note({ ...failure('/a', 3), controller: 'd' });
  failures.clearAll('d');
  expect(failures.summary).toMatchObject({ objects: 1, last: { controller: 'c', request: '/a' } });
});

test('no more are kept than are counted', () => {
  const failures = new ReconcileFailures();
  for (let i = 0; i < maxReconcileFailures + 5; i += 1) failures.note(failure(`/${i}`, 3));
  failures.note(failure('/0', 4));
  expect(failures.summary).toMatchObject({ objects: maxReconcileFailures, last: { request: '/0', attempt: 4 } });
});
