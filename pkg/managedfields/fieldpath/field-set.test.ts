import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runSync } from '#pkg/apimachinery/index';
import {
  type FieldSet,
  forEachMember,
  insertAt,
  intersectingSets,
  leaf,
  recursiveDifference,
  subtractingSets,
  unitingAll,
  unitingSets,
} from './field-set.ts';
import { readingFieldsV1, sortFieldSet } from './fields-v1.ts';

const element = fc.constantFrom('f:a', 'f:b', 'k:{"n":1}', 'v:"x"');
const path = fc.array(element, { minLength: 1, maxLength: 3 });
const paths = fc.array(path, { maxLength: 8 });

function setOf(members: readonly (readonly string[])[]): FieldSet {
  const set: FieldSet = {};
  for (const member of members) insertAt(set, member, leaf);
  return set;
}

function membersOf(set: FieldSet): string[] {
  const members: string[] = [];
  forEachMember(set, (member) => members.push(member.join(' ')));
  return members.toSorted();
}

const unique = (members: readonly (readonly string[])[]): string[] =>
  [...new Set(members.map((member) => member.join(' ')))].toSorted();

describe('a set of fields', () => {
  test('has the members that were inserted', () => {
    fc.assert(fc.property(paths, (members) => expect(membersOf(setOf(members))).toEqual(unique(members))));
  });

  test('is united, intersected and subtracted member by member', () => {
    fc.assert(
      fc.property(paths, paths, (a, b) => {
        const [left, right] = [setOf(a), setOf(b)];
        const [inA, inB] = [unique(a), new Set(unique(b))];
        expect(membersOf(runSync(unitingSets(left, right)))).toEqual(unique([...a, ...b]));
        expect(membersOf(runSync(unitingAll([left, right, left])))).toEqual(unique([...a, ...b]));
        expect(membersOf(runSync(intersectingSets(left, right)))).toEqual(inA.filter((member) => inB.has(member)));
        expect(membersOf(runSync(subtractingSets(left, right)))).toEqual(inA.filter((member) => !inB.has(member)));
        const isBelow = (member: string) => [...inB].some((other) => `${member} `.startsWith(`${other} `));
        expect(membersOf(recursiveDifference(left, right))).toEqual(inA.filter((member) => !isBelow(member)));
      }),
    );
  });

  test('stays itself if nothing changes, and no argument is changed', () => {
    fc.assert(
      fc.property(paths, paths, (a, b) => {
        const [left, right] = [setOf(a), setOf(b)];
        const before = JSON.stringify([left, right]);
        const united = runSync(unitingSets(left, right));
        expect(runSync(unitingSets(united, right))).toBe(united);
        const rest = runSync(subtractingSets(left, right));
        expect(runSync(subtractingSets(rest, right))).toBe(rest);
        expect(JSON.stringify([left, right])).toBe(before);
      }),
    );
  });

  test('is read as it was written', () => {
    fc.assert(
      fc.property(paths, (members) => {
        const written = sortFieldSet(setOf(members));
        expect(runSync(readingFieldsV1(written as never))).toBe(written);
        expect(sortFieldSet(written)).toBe(written);
      }),
    );
  });
});
