import { afterEach, expect, jest, test } from '@jest/globals';
import { WrongCredentials } from './wrong-credentials.ts';

afterEach(() => void jest.restoreAllMocks());

test('the limit of one network applies until time has passed', () => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const wrong = new WrongCredentials(60);
  for (let i = 0; i < 59; i += 1) wrong.add('a');
  expect(wrong.isOver('a')).toBe(false);
  wrong.add('a');
  expect([wrong.isOver('a'), wrong.isOver('b')]).toEqual([true, false]);
  now = 999;
  expect(wrong.isOver('a')).toBe(true);
  now = 1000;
  expect(wrong.isOver('a')).toBe(false);
  wrong.add('a');
  expect(wrong.isOver('a')).toBe(true);
  now = 3_600_000;
  for (let i = 0; i < 60; i += 1) wrong.add('a');
  expect(wrong.isOver('a')).toBe(true);
});

test('the latest networks are remembered', () => {
  const wrong = new WrongCredentials(1);
  for (let i = 0; i <= 20_000; i += 1) wrong.add(String(i));
  expect([wrong.isOver('0'), wrong.isOver('20000')]).toEqual([false, true]);
});

test('a network that continues is not displaced by new ones', () => {
  const wrong = new WrongCredentials(4);
  for (let i = 0; i < 40_000; i += 1) {
    if (i % 8000 === 0) wrong.add('a');
    wrong.add(String(i));
  }
  expect(wrong.isOver('a')).toBe(true);
});
