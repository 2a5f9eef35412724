import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { waitMs, pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { deck, KubectlServer } from './kubectl-server.ts';
import { describeKubectls, linesOf, type KubectlUser } from './kubectls.ts';

let server: KubectlServer;

beforeAll(async () => {
  server = await KubectlServer.start();
});

afterAll(async () => {
  await server.stop();
});

describeKubectls((kubectl) => {
  let user: KubectlUser;
  let uid: string;
  const shown = async (...args: string[]): Promise<string[]> => linesOf(await user.run(...args));
  const testNew = kubectl.isOld ? test.skip : test;

  beforeAll(async () => {
    user = await server.userOf(kubectl);
    const namespace = kubectl.name;
    await server.post(`/apis/cards.example.com/v1/namespaces/${namespace}/decks`, deck('one'));
    await server.post(`/apis/cards.example.com/v1/namespaces/${namespace}/decks`, deck('two', { title: 'Two' }));
    uid = await user.run('get', 'deck', 'one', '-o', 'jsonpath={.metadata.uid}');
    const involvedObject = { apiVersion: 'cards.example.com/v1', kind: 'Deck', name: 'one', namespace, uid };
    const event = (name: string, more: object): object => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name },
      involvedObject,
      ...more,
    });
    const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3600_000).toISOString();
    await server.post(
      `/api/v1/namespaces/${namespace}/events`,
      event('shuffled', {
        type: 'Warning',
        reason: 'Shuffled',
        message: 'It was shuffled.',
        source: { component: 'dealer' },
        firstTimestamp: hoursAgo(20).replace(/\.\d+/, ''),
        lastTimestamp: hoursAgo(9).replace(/\.\d+/, ''),
        count: 3,
      }),
    );
    await server.post(
      `/api/v1/namespaces/${namespace}/events`,
      event('dealt', {
        type: 'Normal',
        reason: 'Dealt',
        message: 'It was dealt.',
        action: 'Deal',
        eventTime: hoursAgo(12).replace('Z', '000Z'),
        reportingComponent: 'dealer',
        reportingInstance: 'left',
      }),
    );
  });

  test('get by plural, singular, short name, group and category', async () => {
    const table = ['NAME TITLE COPIES', 'one One 1', 'two Two'];
    for (const name of ['decks', 'deck', 'dk', 'decks.cards.example.com', 'decks.v1.cards.example.com', 'all'])
      expect([name, await shown('get', name)]).toEqual([name, table]);
    expect(await shown('get', 'deck/one', 'deck/two', '-L', 'app')).toEqual([
      'NAME TITLE COPIES APP',
      'one One 1 cards',
      'two Two cards',
    ]);
  });

  test('get in each output format', async () => {
    const get = async (format: string, ...names: string[]): Promise<string> =>
      user.run('get', 'decks', ...names, '-o', format);
    expect(await get('name')).toBe('deck.cards.example.com/one\ndeck.cards.example.com/two\n');
    expect(await get('jsonpath={.items[*].spec.title}')).toBe('One Two');
    expect(await get('go-template={{range .items}}{{.spec.title}}.{{end}}')).toBe('One.Two.');
    expect(linesOf(await get('custom-columns=N:.metadata.name,C:.spec.cards[1]'))).toEqual([
      'N C',
      'one b',
      'two <none>',
    ]);
    expect(JSON.parse(await get('json'))).toMatchObject({
      kind: 'List',
      items: [{ kind: 'Deck', metadata: { name: 'one' } }, { kind: 'Deck' }],
    });
    const yaml = await get('yaml', 'one');
    expect(yaml).toMatch(/^apiVersion: cards\.example\.com\/v1\nkind: Deck\nmetadata:\n {2}creationTimestamp: "/u);
    expect(yaml).toContain('\nspec:\n  cards:\n  - a\n  - b\n  copies: 1\n  title: One\n');
  });

  test('get several kinds has a table for each, with the kind in the name', async () => {
    const output = await user.run('get', 'decks,events', '-o', 'wide');
    expect(output).toContain('deck.cards.example.com/one');
    expect(output).toContain('event/shuffled');
  });

  test('get of what is not there fails with the words of Kubernetes', async () => {
    expect(await user.result(['get', 'deck', 'none'])).toMatchObject({
      status: 1,
      stderr: 'Error from server (NotFound): decks.cards.example.com "none" not found\n',
    });
    expect(await user.result(['get', 'cups'])).toMatchObject({
      status: 1,
      stderr: 'error: the server doesn\'t have a resource type "cups"\n',
    });
    expect(await user.run('get', 'deck', 'none', '--ignore-not-found')).toBe('');
  });

  test('get of a namespace without objects says so', async () => {
    const { stdout, stderr } = await user.result(['get', 'leases']);
    expect({ stdout, stderr }).toEqual({
      stdout: '',
      stderr: `No resources found in ${kubectl.name} namespace.\n`,
    });
  });

  test('get --watch of one name, with the kind of each event', async () => {
    const child = user.start('get', 'deck', 'two', '--watch', '--output-watch-events');
    try {
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const until = (line: string): Promise<void> =>
        pollUntil(() => linesOf(output).includes(line), waitMs(), `kubectl to show ${line} after ${output}`);
      await until('ADDED two Two');
      await user.run('patch', 'deck', 'two', '--type=merge', '-p', '{"spec":{"copies":5}}');
      await until('MODIFIED two Two 5');
    } finally {
      child.kill('SIGKILL');
      await user.run('patch', 'deck', 'two', '--type=merge', '-p', '{"spec":{"copies":null}}');
    }
  });

  test('describe has the fields of the object and its events', async () => {
    const lines = await shown('describe', 'deck', 'one');
    expect(lines.slice(0, 6)).toEqual([
      'Name: one',
      `Namespace: ${kubectl.name}`,
      'Labels: app=cards',
      'Annotations: <none>',
      'API Version: cards.example.com/v1',
      'Kind: Deck',
    ]);
    expect(lines).toContain(`UID: ${uid}`);
    expect(lines.slice(lines.indexOf('Spec:'))).toEqual([
      'Spec:',
      'Cards:',
      'a',
      'b',
      'Copies: 1',
      'Title: One',
      'Events:',
      'Type Reason Age From Message',
      '---- ------ ---- ---- -------',
      'Normal Dealt 12h dealer It was dealt.',
      'Warning Shuffled 9h (x3 over 20h) dealer It was shuffled.',
    ]);
    expect((await shown('describe', 'deck', 'two')).at(-1)).toBe('Events: <none>');
  });

  test('describe of built-in kinds', async () => {
    expect((await shown('describe', 'crd', 'decks.cards.example.com')).join('\n')).toContain('\nReason: NoConflicts\n');
    expect(await shown('describe', 'namespace', kubectl.name)).toEqual([
      `Name: ${kubectl.name}`,
      expect.stringMatching(/^Labels:/),
      'Annotations: <none>',
      'Status: Active',
      '',
      'No resource quota.',
    ]);
    expect(await shown('describe', 'clusterrole', 'cluster-admin')).toContain('*.* [] [] [*]');
    expect(await shown('describe', 'clusterrolebinding', 'cluster-admin')).toContain('Group system:masters');
    expect(await shown('describe', 'event', 'shuffled')).toContain('Reason: Shuffled');
    expect(await shown('describe', 'leases', '--all-namespaces')).toContain('Kind: Lease');
  });

  test('get events, sorted and selected', async () => {
    expect(await shown('get', 'events', '--sort-by=.reason')).toEqual([
      'LAST SEEN TYPE REASON OBJECT MESSAGE',
      '12h Normal Dealt deck/one It was dealt.',
      '9h Warning Shuffled deck/one It was shuffled.',
    ]);
    expect(await shown('get', 'events', '-o', 'wide', '--no-headers', '--field-selector=type=Warning')).toEqual([
      '9h Warning Shuffled deck/one dealer It was shuffled. 20h 3 shuffled',
    ]);
    expect(await shown('get', 'events', '--field-selector=involvedObject.name=two', '-o', 'name')).toEqual(['']);
  });

  testNew('events, of all and of one object', async () => {
    const both = [
      'LAST SEEN TYPE REASON OBJECT MESSAGE',
      '12h Normal Dealt Deck/one It was dealt.',
      '9h (x3 over 20h) Warning Shuffled Deck/one It was shuffled.',
    ];
    expect(await shown('events')).toEqual(both);
    expect(await shown('events', '--for=deck/one')).toEqual(both);
    expect(await shown('events', '--types=Warning')).toEqual([both[0], both[2]]);
    const { stderr } = await user.result(['events', '--for=deck/two']);
    expect(stderr).toBe(`No events found in ${kubectl.name} namespace.\n`);
  });

  testNew('explain, of a field and of all below it', async () => {
    expect(linesOf(await user.run('explain', 'decks.spec.title'))).toEqual(
      expect.arrayContaining([
        'GROUP: cards.example.com',
        'KIND: Deck',
        'FIELD: title <string>',
        'What people call it.',
      ]),
    );
    const all = await user.run('explain', 'deck', '--recursive');
    expect(all).toMatch(/A deck of cards\./);
    expect(linesOf(all)).toEqual(
      expect.arrayContaining(['cards\t<[]string>', 'managedFields\t<[]ManagedFieldsEntry>']),
    );
    expect(await user.run('explain', 'crd.spec.versions')).toContain('GROUP:      apiextensions.k8s.io');
    expect((await user.result(['explain', 'deck.spec.colour'])).stderr).toContain('field "colour" does not exist');
  });

  test('api-resources and api-versions', async () => {
    const resources = await shown('api-resources', '--no-headers');
    for (const line of [
      'decks dk cards.example.com/v1 true Deck',
      'configmaps cm v1 true ConfigMap',
      'namespaces ns v1 false Namespace',
      'customresourcedefinitions crd,crds apiextensions.k8s.io/v1 false CustomResourceDefinition',
      'leases coordination.k8s.io/v1 true Lease',
      'selfsubjectaccessreviews authorization.k8s.io/v1 false SelfSubjectAccessReview',
    ])
      expect(resources).toContain(line);
    expect(await shown('api-resources', '--api-group=cards.example.com', '-o', 'name')).toEqual([
      'decks.cards.example.com',
    ]);
    expect(await shown('api-resources', '--namespaced=false', '--verbs=list,create', '-o', 'name')).not.toContain(
      'events',
    );
    expect(await shown('api-versions')).toEqual(
      expect.arrayContaining(['apiextensions.k8s.io/v1', 'cards.example.com/v1', 'rbac.authorization.k8s.io/v1', 'v1']),
    );
  });

  test('version and get --raw', async () => {
    expect(await user.run('version')).toMatch(/v1\.\d+\.0/);
    expect(await user.run('get', '--raw', '/readyz')).toBe('ok');
  });

  test('auth can-i, for oneself and for others', async () => {
    expect(await user.run('auth', 'can-i', 'delete', 'decks')).toBe('yes\n');
    expect(await user.run('auth', 'can-i', 'get', '/metrics')).toBe('yes\n');
    const others = await user.result(['auth', 'can-i', 'delete', 'decks', '--as=ada']);
    expect(others).toMatchObject({ status: 1, stdout: expect.stringMatching(/^no/) });
    expect(await shown('auth', 'can-i', '--list')).toEqual(
      expect.arrayContaining(['Resources Non-Resource URLs Resource Names Verbs', '*.* [] [] [*]', '[*] [] [*]']),
    );
    expect(await shown('auth', 'can-i', '--list', '--as=ada')).not.toContain('*.* [] [] [*]');
  });

  testNew('auth whoami', async () => {
    expect(await shown('auth', 'whoami')).toEqual(
      expect.arrayContaining(['ATTRIBUTE VALUE', 'Username admin', expect.stringMatching(/^Groups .*system:masters/)]),
    );
    expect(await user.run('auth', 'whoami', '--as=ada', '--as-group=g', '-o', 'jsonpath={.status.userInfo}')).toContain(
      '"username":"ada"',
    );
  });
});
