import { expect, test } from '@jest/globals';
import { OwnerStates } from './owner-states.ts';

const owner = { group: 'g', kind: 'K', namespace: 'n', name: 'a', uid: 'u' };

test('a deleted owner stays deleted, whatever an earlier lookup returns', () => {
  const states = new OwnerStates();
  states.note(owner, 'solid');
  states.note(owner, 'waiting');
  expect(states.get(owner)).toBe('waiting');
  states.note(owner, 'absent');
  states.note(owner, 'solid');
  expect(states.get(owner)).toBe('absent');
});

test('an answer from before a gap in the events is not kept', () => {
  const states = new OwnerStates();
  const { generation } = states;
  states.note(owner, 'absent');
  states.clear();
  states.note(owner, 'solid', generation);
  expect(states.get(owner)).toBeUndefined();
});

test.each([
  ['group', { group: 'h' }],
  ['kind', { kind: 'L' }],
  ['namespace', { namespace: 'm' }],
  ['name', { name: 'b' }],
  ['uid', { uid: 'v' }],
])('another %s is another owner', (_, other) => {
  const states = new OwnerStates();
  states.note(owner, 'solid');
  expect(states.get({ ...owner, ...other })).toBeUndefined();
});

test('the least recently used states are removed', () => {
  const states = new OwnerStates();
  states.note(owner, 'solid');
  states.note({ ...owner, uid: 'forgotten' }, 'solid');
  for (let i = 0; i < 19_999; i += 1) {
    states.get(owner);
    states.note({ ...owner, uid: `other-${i}` }, 'solid');
  }
  expect([states.get(owner), states.get({ ...owner, uid: 'forgotten' })]).toEqual(['solid', undefined]);
});
