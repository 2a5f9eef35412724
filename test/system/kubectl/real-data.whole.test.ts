import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  realDataPresent,
  realDefinitions,
  realExamples,
  type RealDocument,
} from '../../../pkg/testenv/contract/real-data-files.ts';
import { KubectlServer } from './kubectl-server.ts';
import { describeKubectls, linesOf, type KubectlUser } from './kubectls.ts';

const definitions = realDataPresent ? ['gateway-api', 'cert-manager'].flatMap(realDefinitions) : [];
const samples = realDataPresent ? realExamples('gateway-api') : [];

/** Some samples describe the same object differently: each list here has an object once, in the order of the files. */
function listsOfDistinctObjects(documents: readonly RealDocument[]): RealDocument[][] {
  const counts = new Map<string, number>();
  const lists: RealDocument[][] = [];
  for (const document of documents) {
    const { kind, metadata } = document.content;
    const key = `${kind} ${metadata.namespace ?? 'default'} ${metadata.name}`;
    const count = counts.get(key) ?? 0;
    (lists[count] ??= []).push(document);
    counts.set(key, count + 1);
  }
  return lists;
}

/** The samples do not contain all of their namespaces. */
function namespacesOf(documents: readonly RealDocument[]): Set<string> {
  return new Set(
    documents.flatMap(({ content: { kind, metadata } }) =>
      kind === 'Namespace' ? [metadata.name] : (metadata.namespace ?? []),
    ),
  );
}

// kubectl continues after a failure, so the error of a command has the messages of all objects that were refused.
// Nothing is refused at present.
(realDataPresent ? describe : describe.skip)('definitions and objects of other projects, unchanged', () => {
  describeKubectls((kubectl) => {
    let server: KubectlServer;
    let user: KubectlUser;

    const runWith = async (documents: readonly RealDocument[], ...args: string[]): Promise<string[]> => {
      const input = documents.map(({ text }) => text).join('\n---\n');
      return linesOf(await user.runWith({ input }, ...args, '-f', '-'));
    };
    /** A line for each object, with its resourceVersion. */
    const versionsOf = (documents: readonly RealDocument[]): Promise<string[]> =>
      runWith(
        documents,
        'get',
        '--no-headers',
        '-o',
        'custom-columns=A:.kind,B:.metadata.namespace,C:.metadata.name,D:.metadata.resourceVersion',
      );

    /** Applies objects, applies them again, which changes nothing, and compares them with the server's. */
    const applyTwiceAndDiff = async (
      documents: readonly RealDocument[],
      flags: string[],
      applied: () => Promise<unknown> = () => Promise.resolve(),
    ): Promise<void> => {
      expect(await runWith(documents, 'apply', ...flags)).toHaveLength(documents.length);
      await applied();
      const versions = await versionsOf(documents);
      expect(versions).toHaveLength(documents.length);
      await runWith(documents, 'apply', ...flags);
      expect(await versionsOf(documents)).toEqual(versions);
      // It exits with 1 where it finds a difference.
      expect(await runWith(documents, 'diff', ...flags)).toEqual(['']);
    };

    beforeAll(async () => {
      server = await KubectlServer.start();
      user = server.user(kubectl);
    });

    afterAll(() => server.stop());

    // An object that was applied server-side is handed over to the client's way, with its last-applied annotation.
    describe.each([
      ['server-side', ['--server-side']],
      ['client-side', []],
    ])('apply %s and again, and diff', (_way, flags) => {
      test('every definition', async () => {
        await applyTwiceAndDiff(definitions, flags, () =>
          user.run('wait', '--for=condition=Established', 'crd', '--all'),
        );
      });

      test('every sample', async () => {
        for (const name of namespacesOf(samples)) await user.result(['create', 'namespace', name]);
        for (const list of listsOfDistinctObjects(samples)) await applyTwiceAndDiff(list, flags);
      });
    });
  });
});
