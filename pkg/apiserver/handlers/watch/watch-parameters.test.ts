import { describe, expect, test } from '@jest/globals';
import { printerColumns } from '../../table/table-columns.ts';
import { watchFormat, type WatchFormat } from './watch-format.ts';
import { defaultWatchTiming } from '../options/watch-timing.ts';
import { parseWatchParameters, type WatchParameters } from './watch-parameters.ts';

function parse(query: string, lastEventId?: string): WatchParameters {
  return parseWatchParameters(new URLSearchParams(query), defaultWatchTiming, lastEventId);
}

const streaming = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';

describe('watch parameters', () => {
  test.each([
    ['', undefined, { type: 'objects', notOlderThan: 0 }],
    ['resourceVersion=0', undefined, { type: 'objects', notOlderThan: 0 }],
    ['resourceVersion=7', undefined, { type: 'after', revision: 7 }],
    [streaming, undefined, { type: 'objects', notOlderThan: 0 }],
    [`${streaming}&resourceVersion=7`, undefined, { type: 'objects', notOlderThan: 7 }],
    ['sendInitialEvents=false&resourceVersionMatch=NotOlderThan', undefined, { type: 'now' }],
    [
      'sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=7',
      undefined,
      { type: 'after', revision: 7 },
    ],
    ['resourceVersion=7', '9', { type: 'after', revision: 9 }],
    ['', '9', { type: 'after', revision: 9 }],
    ['resourceVersion=7', '', { type: 'after', revision: 7 }],
  ])('%p with Last-Event-ID %p starts with %p', (query, lastEventId, start) => {
    expect(parse(query, lastEventId).start).toEqual(start);
  });

  test('the end of the initial objects is marked if bookmarks are allowed', () => {
    expect(parse(`${streaming}&allowWatchBookmarks=true`)).toMatchObject({ marksInitialEnd: true, bookmarks: true });
    expect(parse(streaming)).toMatchObject({ marksInitialEnd: false, bookmarks: false });
    expect(parse('allowWatchBookmarks=true')).toMatchObject({ marksInitialEnd: false, bookmarks: true });
  });

  test('last as long as requested, or 30 to 60 minutes', () => {
    expect(parse('timeoutSeconds=5').durationMs).toBe(5000);
    expect(parse('timeoutSeconds=99999999999').durationMs).toBe(24 * 3600_000);
    for (const query of ['', 'timeoutSeconds=0']) {
      expect(parse(query).durationMs).toBeGreaterThanOrEqual(30 * 60_000);
      expect(parse(query).durationMs).toBeLessThanOrEqual(60 * 60_000);
    }
  });

  test.each([
    ['sendInitialEvents=true', 422],
    ['sendInitialEvents=false', 422],
    ['sendInitialEvents=true&resourceVersionMatch=Exact', 422],
    ['resourceVersionMatch=NotOlderThan', 422],
    [`${streaming}&continue=abc`, 422],
    ['sendInitialEvents=maybe', 400],
    ['timeoutSeconds=-1', 400],
    ['resourceVersion=abc', 400],
    ['resourceVersion=1&resourceVersion=2', 400],
  ])('%p is a %i', (query, code) => {
    expect(() => parse(query)).toThrow(expect.objectContaining({ code }));
  });

  test.each(['abc', '-1', '1'.repeat(30), '1; drop'])('Last-Event-ID %p is a 400', (id) => {
    expect(() => parse('', id)).toThrow(expect.objectContaining({ code: 400 }));
  });
});

function formatFor(accept: string | undefined, query = ''): WatchFormat {
  const columns = [{ name: 'Title', type: 'string' as const, jsonPath: '.spec.title' }];
  return watchFormat(accept, { query: new URLSearchParams(query), columns: () => printerColumns(columns) });
}

describe('watch format', () => {
  test.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/json;stream=watch', 'application/json;stream=watch'],
    ['text/event-stream', 'text/event-stream'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'application/json'],
    ['application/json;stream=watch;as=Table;v=v1beta1;g=meta.k8s.io', 'application/json;stream=watch'],
    ['application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch', 'application/json;stream=watch'],
  ])('for %p is %p', (accept, contentType) => {
    expect(formatFor(accept).contentType).toBe(contentType);
  });

  test.each(['application/yaml', 'application/json;as=Table;v=v2;g=meta.k8s.io', 'text/html'])(
    'for %p is 406',
    (accept) => {
      expect(() => formatFor(accept)).toThrow(expect.objectContaining({ code: 406 }));
    },
  );

  test('writes one document a line, or one event a block', () => {
    const text = '{"metadata":{"name":"a"}}';
    expect(formatFor('application/json').event('ADDED', 5, text).toString()).toBe(
      `{"type":"ADDED","object":${text}}\n`,
    );
    expect(formatFor('text/event-stream').event('DELETED', 5, text).toString()).toBe(
      `id: 5\ndata: {"type":"DELETED","object":${text}}\n\n`,
    );
    const partial = formatFor('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')
      .event('ADDED', 5, text)
      .toString();
    expect(JSON.parse(partial)).toEqual({
      type: 'ADDED',
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'a' } },
    });
  });

  describe('of tables', () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const text = '{"metadata":{"name":"a","resourceVersion":"5"},"spec":{"title":"A"}}';
    const shown = (format: WatchFormat, type: 'ADDED' | 'BOOKMARK' = 'ADDED', object = text): unknown =>
      (JSON.parse(format.event(type, 5, object).toString()) as { object: unknown }).object;
    const row = (object: unknown): object => ({ cells: ['a', 'A'], object });
    const metadata = { name: 'a', resourceVersion: '5' };
    const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };

    test('has the columns in the first event alone', () => {
      const first = formatFor(accept);
      const table = { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: { resourceVersion: '5' } };
      expect(shown(first)).toEqual({
        ...table,
        columnDefinitions: [expect.objectContaining({ name: 'Name' }), expect.objectContaining({ name: 'Title' })],
        rows: [row(partial)],
      });
      expect(shown(first.afterFirst!)).toEqual({ ...table, columnDefinitions: null, rows: [row(partial)] });
    });

    test('shares no bytes between forms that differ', () => {
      const formats = ['', 'includeObject=None', 'includeObject=Object'].flatMap((query) =>
        [accept, accept.replace('v=v1', 'v=v1beta1')].flatMap((each) => {
          const format = formatFor(each, query);
          return [format.name, format.afterFirst!.name];
        }),
      );
      expect(new Set([...formats, formatFor('application/json').name]).size).toBe(13);
    });

    test.each<[string, unknown]>([
      ['', partial],
      ['includeObject=', partial],
      ['includeObject=Metadata', partial],
      ['includeObject=Object', { metadata, spec: { title: 'A' } }],
      ['includeObject=None', null],
    ])('includes by %p', (query, object) => {
      expect(shown(formatFor(accept, query))).toMatchObject({ rows: [row(object)] });
    });

    test('shows the end of the initial events even without objects', () => {
      const end = { metadata: { resourceVersion: '7', annotations: { 'k8s.io/initial-events-end': 'true' } } };
      const format = formatFor(accept, 'includeObject=None');
      expect(shown(format, 'BOOKMARK', JSON.stringify(end))).toMatchObject({
        metadata: { resourceVersion: '7' },
        rows: [{ cells: ['', null], object: end }],
      });
      expect(shown(format, 'BOOKMARK', '{"metadata":{"resourceVersion":"7"}}')).toMatchObject({
        rows: [{ cells: ['', null], object: null }],
      });
    });

    test('refuses another includeObject as Kubernetes does', () => {
      expect(() => formatFor(accept, 'includeObject=all')).toThrow(
        expect.objectContaining({
          code: 400,
          message: `Unable to convert to Table as requested: includeObject: Invalid value: "all": must be 'Metadata', 'Object', 'None', or empty`,
        }),
      );
      expect(formatFor('application/json', 'includeObject=all').name).toBe('json');
    });
  });
});
