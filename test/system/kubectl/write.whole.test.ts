import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { issueCertificate, makeAuthority } from '../../../cmd/svc/tls/local-authority.ts';
import { pause } from '../../../pkg/apimachinery/index.ts';
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
  const testNew = kubectl.isOld ? test.skip : test;
  /** Some kinds belong to no namespace. */
  const own = (name: string): string => `${kubectl.name}-${name}`;
  const fieldOf = async (what: string, path: string): Promise<string> =>
    user.run('get', ...what.split(' '), '-o', `jsonpath={${path}}`);
  const createDeck = async (name: string): Promise<void> => {
    await user.runWith({ input: JSON.stringify(deck(name)) }, 'create', '-f', '-');
  };

  beforeAll(async () => {
    user = await server.userOf(kubectl);
  });

  test('create makes each kind that it has a command for', async () => {
    const { cert, key } = await issueCertificate(await makeAuthority(), ['shop.example.com']);
    const [certFile, keyFile] = [join(server.folder, 'tls.crt'), join(server.folder, 'tls.key')];
    await writeFile(certFile, cert);
    await writeFile(keyFile, key);
    for (const [what, ...args] of [
      [`namespace/${own('made')}`, 'namespace', own('made')],
      ['configmap/settings', 'configmap', 'settings', '--from-literal=colour=red', `--from-file=${certFile}`],
      ['secret/mail', 'secret', 'generic', 'mail', '--from-literal=password=s3cret'],
      ['secret/web', 'secret', 'tls', 'web', `--cert=${certFile}`, `--key=${keyFile}`],
      [
        'secret/hub',
        'secret',
        'docker-registry',
        'hub',
        '--docker-username=a',
        '--docker-password=b',
        '--docker-email=a@example.com',
      ],
      ['role.rbac.authorization.k8s.io/reader', 'role', 'reader', '--verb=get,list', '--resource=decks,decks/status'],
      [
        `clusterrole.rbac.authorization.k8s.io/${own('reader')}`,
        'clusterrole',
        own('reader'),
        '--verb=get',
        '--resource=decks.cards.example.com',
        '--resource-name=one',
      ],
      [
        `clusterrole.rbac.authorization.k8s.io/${own('probe')}`,
        'clusterrole',
        own('probe'),
        '--verb=get',
        '--non-resource-url=/livez/*',
      ],
      [
        `clusterrole.rbac.authorization.k8s.io/${own('sum')}`,
        'clusterrole',
        own('sum'),
        '--aggregation-rule=example.com/part=true',
      ],
      ['rolebinding.rbac.authorization.k8s.io/readers', 'rolebinding', 'readers', '--role=reader', '--user=mia'],
      [
        `clusterrolebinding.rbac.authorization.k8s.io/${own('readers')}`,
        'clusterrolebinding',
        own('readers'),
        `--clusterrole=${own('reader')}`,
        '--group=readers',
        '--serviceaccount=default:robot',
      ],
      ['resourcequota/few', 'quota', 'few', '--hard=count/configmaps=5,count/decks.cards.example.com=99'],
    ] as const)
      expect(await user.run('create', ...args)).toBe(`${what} created\n`);
    expect(await user.run('get', 'secret', '--field-selector=type=kubernetes.io/tls', '-o', 'name')).toBe(
      'secret/web\n',
    );
    expect(await user.run('auth', 'can-i', 'list', 'decks', '--as=mia')).toBe('yes\n');
    const described = linesOf(await user.run('describe', 'secret,role,rolebinding,configmap'));
    for (const line of [
      'password: 6 bytes',
      'Type: kubernetes.io/dockerconfigjson',
      'decks.cards.example.com/status [] [] [get list]',
      'User mia',
      'colour:',
    ])
      expect(described).toContain(line);
  });

  testNew('create --dry-run and get show what a quota counts', async () => {
    expect(await user.run('create', 'configmap', 'dry', '--dry-run=server', '-o', 'name')).toBe('configmap/dry\n');
    await user.run('wait', 'quota/few', '--for=jsonpath={.status.used.count/configmaps}=1', '--timeout=20s');
    expect(linesOf(await user.run('get', 'quota'))).toEqual([
      'NAME REQUEST LIMIT AGE',
      expect.stringMatching(/^few count\/configmaps: 1\/5, count\/decks\.cards\.example\.com: 0\/99 \d+s$/),
    ]);
  });

  test('create reports what is wrong with an object', async () => {
    const wrong = { ...deck('wrong'), spec: { title: 'T'.repeat(21), copies: -1 } };
    const { status, stderr } = await user.result(['create', '-f', '-'], {
      input: JSON.stringify(wrong),
    });
    expect(status).toBe(1);
    expect(stderr).toContain('The Deck "wrong" is invalid');
    expect(stderr).toContain('* spec.title: Too long: may not be more than 20 bytes');
    expect(stderr).toContain('* spec.copies: Invalid value: -1: ');
  });

  testNew('create refuses unknown fields, warns of them, or drops them', async () => {
    const create = async (name: string, validate: string) =>
      user.result(['create', `--validate=${validate}`, '-f', '-'], {
        input: JSON.stringify(deck(name, { titel: 'x' })),
      });
    expect(await create('strict', 'strict')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('strict decoding error: unknown field "spec.titel"'),
    });
    expect(await create('warn', 'warn')).toMatchObject({
      status: 0,
      stderr: 'Warning: unknown field "spec.titel"\n',
    });
    expect(await create('ignore', 'ignore')).toMatchObject({ status: 0, stderr: '' });
  });

  test('label and annotate set, change and remove', async () => {
    await createDeck('marked');
    const path = '.metadata.labels';
    expect(await user.run('label', 'deck', 'marked', 'a=b')).toContain('deck.cards.example.com/marked labeled');
    expect(await user.result(['label', 'deck', 'marked', 'a=c'])).toMatchObject({ status: 1 });
    expect(await user.run('label', 'deck', 'marked', 'a=c', '--overwrite')).toContain('labeled');
    expect(JSON.parse(await fieldOf('deck marked', path))).toEqual({ a: 'c', app: 'cards' });
    await user.run('label', 'decks', '--all', 'a-');
    expect(await user.result(['label', 'deck', 'marked', 'a=not valid!'])).toMatchObject({ status: 1 });
    expect(JSON.parse(await fieldOf('deck marked', path))).toEqual({ app: 'cards' });
    expect(await user.run('annotate', 'deck', '-l', 'app=cards', 'note=x')).toContain('annotated');
    expect(await fieldOf('deck marked', '.metadata.annotations.note')).toBe('x');
    expect(await user.run('annotate', 'deck', 'marked', 'note-')).toContain('annotated');
    expect(await fieldOf('deck marked', '.metadata.annotations')).toBe('');
  });

  test('patch of each type', async () => {
    await createDeck('patched');
    const patch = async (...args: string[]) => user.result(['patch', 'deck', 'patched', ...args]);
    const title = async (): Promise<string> => fieldOf('deck patched', '.spec.title');
    expect(await patch('--type=merge', '-p', '{"spec":{"title":"Merged"}}')).toMatchObject({
      stdout: 'deck.cards.example.com/patched patched\n',
    });
    expect(await title()).toBe('Merged');
    const change = '[{"op":"test","path":"/spec/cards/1","value":"b"},{"op":"add","path":"/spec/cards/-","value":"c"}]';
    expect(await patch('--type=json', '-p', change)).toMatchObject({ status: 0 });
    expect(await fieldOf('deck patched', '.spec.cards')).toBe('["a","b","c"]');
    expect(await patch('--type=merge', '-p', '{"spec":{"title":"Merged"}}')).toMatchObject({
      stdout: 'deck.cards.example.com/patched patched (no change)\n',
    });
    const strategic = await patch('-p', '{"spec":{"title":"Strategic"}}');
    expect(strategic.status).toBe(1);
    expect(strategic.stderr).toContain('application/merge-patch+json');
    expect(await patch('--type=merge', '-p', '{"spec":{"copies":-1}}')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('spec.copies'),
    });
    await user.run('create', 'configmap', 'patched', '--from-literal=a=1');
    await user.run('patch', 'configmap', 'patched', '-p', '{"data":{"b":"2"}}');
    expect(await fieldOf('configmap patched', '.data')).toBe('{"a":"1","b":"2"}');
  });

  testNew('patch, get, edit and replace of a subresource', async () => {
    await createDeck('sub');
    await user.run('patch', 'deck', 'sub', '--subresource=status', '--type=merge', '-p', '{"status":{"copies":2}}');
    expect(await fieldOf('deck sub', '.metadata.generation')).toBe('1');
    expect(linesOf(await user.run('get', 'deck', 'sub', '--subresource=scale'))).toEqual([
      'NAME DESIRED AVAILABLE AGE',
      expect.stringMatching(/^sub 1 2 \d+s$/),
    ]);
    const edited = await user.runWith(
      { env: { KUBE_EDITOR: 'sed -i /^status:/,$s/2/3/' } },
      'edit',
      'deck',
      'sub',
      '--subresource=status',
    );
    expect(edited).toBe('deck.cards.example.com/sub edited\n');
    expect(await fieldOf('deck sub', '.status.copies')).toBe('3');
    await user.runWith(
      { input: JSON.stringify({ ...deck('sub'), spec: { title: 'Not this' }, status: { copies: 4 } }) },
      'replace',
      '--subresource=status',
      '-f',
      '-',
    );
    expect(await fieldOf('deck sub', '.status.copies')).toBe('4');
    expect(await fieldOf('deck sub', '.spec.title')).toBe('One');
  });

  test('scale, also with a precondition', async () => {
    await createDeck('scaled');
    expect(await user.run('scale', 'deck', 'scaled', '--replicas=3')).toBe('deck.cards.example.com/scaled scaled\n');
    expect(await user.run('scale', 'deck/scaled', '--replicas=4', '--current-replicas=3')).toContain('scaled');
    expect(await user.result(['scale', 'deck/scaled', '--replicas=5', '--current-replicas=3'])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/Expected replicas to be 3, was 4/i),
    });
    expect(await fieldOf('deck scaled', '.spec.copies')).toBe('4');
  });

  test('edit changes, cancels, and keeps what was refused', async () => {
    await createDeck('edited');
    const edit = async (editor: string) => user.result(['edit', 'deck', 'edited'], { env: { KUBE_EDITOR: editor } });
    expect(await edit('sed -i s/One/Edited/')).toMatchObject({
      status: 0,
      stdout: 'deck.cards.example.com/edited edited\n',
    });
    expect(await fieldOf('deck edited', '.spec.title')).toBe('Edited');
    expect((await edit('true')).stderr).toContain('Edit cancelled, no changes made.');
    const refused = await edit('sed -i s/copies:.*/copies:\\ -3/');
    expect(refused.status).toBe(1);
    const [, copy] = /stored to "([^"]+)"/.exec(refused.stderr) ?? [];
    expect(await readFile(copy!, 'utf8')).toContain('copies: -3');
  });

  test('replace, with and without --force', async () => {
    await createDeck('replaced');
    const replace = async (title: string, ...flags: string[]): Promise<string> =>
      user.runWith({ input: JSON.stringify(deck('replaced', { title })) }, 'replace', ...flags, '-f', '-');
    const uid = await fieldOf('deck replaced', '.metadata.uid');
    expect(await replace('Two')).toBe('deck.cards.example.com/replaced replaced\n');
    expect(await fieldOf('deck replaced', '.spec')).toBe('{"title":"Two"}');
    expect(await fieldOf('deck replaced', '.metadata.uid')).toBe(uid);
    expect(await replace('Three', '--force')).toContain('deck.cards.example.com/replaced replaced\n');
    expect(await fieldOf('deck replaced', '.metadata.uid')).not.toBe(uid);
    const absent = await user.result(['replace', '-f', '-'], {
      input: JSON.stringify(deck('absent')),
    });
    expect(absent.stderr).toContain('decks.cards.example.com "absent" not found');
  });

  test('delete with each cascade, of all, and by label', async () => {
    /** A Deck that owns another. */
    const createFamily = async (): Promise<void> => {
      await createDeck('parent');
      const uid = await fieldOf('deck parent', '.metadata.uid');
      const ownerReferences = [
        { apiVersion: 'cards.example.com/v1', kind: 'Deck', name: 'parent', uid, blockOwnerDeletion: true },
      ];
      await user.runWith(
        { input: JSON.stringify({ ...deck('child'), metadata: { name: 'child', ownerReferences } }) },
        'create',
        '-f',
        '-',
      );
    };
    const isChildThere = async (): Promise<boolean> =>
      (await user.run('get', 'deck', 'child', '-o', 'name', '--ignore-not-found')) !== '';

    await createFamily();
    expect(await user.run('delete', 'deck', 'parent', '--cascade=orphan')).toMatch(
      /^deck\.cards\.example\.com "parent" deleted/,
    );
    expect(await fieldOf('deck child', '.metadata.ownerReferences')).toBe('');
    await user.run('delete', 'deck', 'child');

    await createFamily();
    await user.run('delete', 'deck', 'parent', '--cascade=foreground', '--timeout=40s');
    expect(await isChildThere()).toBe(false);

    await createFamily();
    await user.run('delete', 'deck', 'parent', '--cascade=background');
    // kubectl 1.20 takes an object that is gone already for an error.
    await user.result(['wait', 'deck/child', '--for=delete', '--timeout=40s']);
    expect(await isChildThere()).toBe(false);

    await createDeck('held');
    await user.run('patch', 'deck', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/a"]}}');
    await user.run('delete', 'deck', 'held', '--wait=false');
    expect(await user.result(['delete', 'deck', 'held', '--timeout=1s'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('timed out waiting for the condition'),
    });
    await user.run('patch', 'deck', 'held', '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]');

    await createDeck('labelled');
    await user.run('label', 'deck', 'labelled', 'end=now');
    expect(await user.run('delete', 'decks', '-l', 'end=now')).toMatch(/^deck\.cards\.example\.com "labelled" deleted/);
    expect(await user.run('delete', 'decks', '-l', 'end=now')).toBe('No resources found\n');
    await createDeck('last');
    await user.run('delete', 'decks', '--all');
    expect(await user.run('get', 'decks', '-o', 'name')).toBe('');
    expect(await user.run('delete', 'deck', 'last', '--ignore-not-found')).toBe('');
  });

  test('wait for a condition, and for the end of an object', async () => {
    const name = own('waited');
    await createDeck(name);
    expect(await user.result(['wait', `deck/${name}`, '--for=condition=Ready', '--timeout=1s'])).toEqual({
      status: 1,
      stdout: '',
      stderr: `error: timed out waiting for the condition on decks/${name}\n`,
    });
    const waits = user.run('wait', `deck/${name}`, '--for=condition=Ready', '--timeout=40s');
    await server.patch(`/apis/cards.example.com/v1/namespaces/${kubectl.name}/decks/${name}/status`, {
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    expect(await waits).toBe(`deck.cards.example.com/${name} condition met\n`);
    await user.run('label', 'deck', name, 'waits=true');
    expect(await user.run('wait', 'deck', '-l', 'waits', '--for=condition=Ready=true', '--timeout=40s')).toContain(
      name,
    );
    const ends = user.run('wait', `deck/${name}`, '--for=delete', '--timeout=40s');
    // Its watch should run by then, and if it does not, the result is the same.
    await pause(500);
    await user.run('delete', 'deck', name);
    expect(await ends).toContain('condition met');
  });

  testNew('wait for a value, and for an object that is not there yet', async () => {
    const name = own('later');
    const made = user.run('wait', `deck/${name}`, '--for=create', '--timeout=40s');
    await createDeck(name);
    expect(await made).toBe(`deck.cards.example.com/${name} condition met\n`);
    const valued = user.run('wait', `deck/${name}`, '--for=jsonpath={.spec.copies}=7', '--timeout=40s');
    await user.run('scale', 'deck', name, '--replicas=7');
    expect(await valued).toBe(`deck.cards.example.com/${name} condition met\n`);
  });

  test('auth reconcile makes roles and bindings, adds rules, and then changes nothing', async () => {
    const name = own('reconciled');
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const file = async (verbs: string[]): Promise<string> =>
      server.file(
        `${name}.json`,
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRole',
          metadata: { name },
          rules: [{ apiGroups: ['cards.example.com'], resources: ['decks'], verbs }],
        },
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: { name, namespace: kubectl.name },
          roleRef,
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'noa' }],
        },
      );
    const version = async (): Promise<string> => fieldOf(`clusterrole ${name}`, '.metadata.resourceVersion');
    expect(await user.run('auth', 'reconcile', '-f', await file(['get']))).toBe(
      `clusterrole.rbac.authorization.k8s.io/${name} reconciled\nrolebinding.rbac.authorization.k8s.io/${name} reconciled\n`,
    );
    await user.run('auth', 'reconcile', '-f', await file(['get', 'list']));
    const before = await version();
    await user.run('auth', 'reconcile', '-f', await file(['get']));
    expect(await version()).toBe(before);
    expect(await user.run('auth', 'can-i', 'list', 'decks', '--as=noa')).toBe('yes\n');
    expect(await user.result(['auth', 'can-i', 'delete', 'decks', '--as=noa'])).toMatchObject({ status: 1 });
  });

  test('delete namespace takes its objects with it', async () => {
    await createDeck('in-namespace');
    expect(await user.run('delete', 'namespace', own('made'), kubectl.name, '--timeout=50s')).toContain('deleted');
    expect(await user.run('get', 'decks', '--all-namespaces', '-o', 'name')).toBe('');
  });
});
