import { access } from './en/access.ts';
import { actions } from './en/actions.ts';
import { apply } from './en/apply.ts';
import { bulk } from './en/bulk.ts';
import { columns } from './en/columns.ts';
import { content } from './en/content.ts';
import { events } from './en/events.ts';
import { frame } from './en/frame.ts';
import { exported } from './en/export.ts';
import { form } from './en/form.ts';
import { health } from './en/health.ts';
import { number, plural } from './en/numbers.ts';
import { owners } from './en/owners.ts';
import { plots } from './en/plots.ts';
import { plugins } from './en/plugins.ts';
import { snippet } from './en/snippet.ts';
import { userCenter } from './en/user-center.ts';
import { views } from './en/views.ts';

export const en = {
  form,
  product: 'svc console',
  number: (value: number) => number.format(value),
  language: 'en',
  cancel: 'Cancel',
  close: 'Close',
  copy: 'Copy',
  loading: 'Loading…',
  retry: 'Try again',
  failed: 'That did not work',
  notLoaded: 'This part of the console could not be loaded',
  notLoadedText: 'The server may have another version of the console by now, or it cannot be reached.',
  reload: 'Load the page again',
  skipToContent: 'Skip to the content',

  access,
  actions,

  login: {
    title: 'Log in',
    again: 'Log in again',
    expired: (username: string) =>
      `The session of ${username} has ended. Log in again: what you typed on this page is kept.`,
    username: 'Username',
    password: 'Password',
    submit: 'Log in',
    logOut: 'Log out',
    loggedInAs: (name: string) => `Logged in as ${name}`,
  },

  navigation: {
    label: 'Models',
    open: 'Menu',
    overview: 'Overview',
    apply: 'Apply files',
    plugins: 'Plugins',
    events: 'Events',
    health: 'System health',
    core: 'core',
    find: 'Find a model',
    none: 'No model has this name.',
    noRight: (rule: string) => `Your roles do not have this rule: ${rule}`,
  },

  namespace: { label: 'Namespace', all: 'All namespaces', named: 'Another namespace', go: 'Show' },

  appearance: { label: 'Appearance', system: 'As the system', light: 'Light', dark: 'Dark' },

  palette: {
    open: 'Search and commands',
    title: 'Go to a model, or do something',
    input: 'Search models and commands',
    none: 'Nothing has this name.',
    keys: 'Show the list of keys',
    userCenter: 'profile password sessions tokens keys logins',
    go: (kind: string) => `Go to ${kind}`,
    create: (kind: string) => `New ${kind}`,
    view: (title: string, kind: string) => `${title}: view of ${kind}`,
  },

  keys: {
    title: 'Keys',
    single: 'Single letters act, too',
    palette: 'search and commands',
    help: 'this list',
    overview: 'go to the overview',
    apply: 'go to apply files',
    plugins: 'go to plugins',
    events: 'go to events',
    health: 'go to system health',
    filter: 'filter the list',
    create: 'new object',
    save: 'save',
    rows: 'next and previous row',
    select: 'select the row',
    open: 'open the row',
    yaml: 'edit the YAML',
  },

  overview: {
    title: 'Overview',
    intro: 'The models of this server, and how many objects of each you can see.',
    noOwnModels: 'There is no model of your own yet. Apply the file of a definition, and it is here at once:',
    plugins: 'Plugins',
    pluginsInOrder: (count: number) =>
      count === 0 ? 'There are no plugins.' : `${plural(count, 'plugin', 'plugins')}, all in order.`,
    warnings: 'Newest warnings',
    noWarnings: 'There are no warnings.',
    models: 'Models',
    model: 'Model',
    group: 'Group',
    objects: 'Objects',
    atLeast: (count: number) => `at least ${number.format(count)}`,
    forbidden: 'may not list',
  },

  list: {
    create: 'New',
    import: 'Import',
    total: (count: number, isLowerBound: boolean) =>
      isLowerBound ? `at least ${plural(count, 'object', 'objects')}` : plural(count, 'object', 'objects'),
    live: 'Live',
    connecting: 'Connecting…',
    stale: (since: string) => `Not up to date since ${since}`,
    empty: 'There are no objects.',
    emptyFiltered: 'No object matches the filter.',
    unknown: (path: string) => `The server has no model ${path}, or it is gone.`,
    rows: (kind: string) => `Objects of ${kind}`,
    selectRow: (name: string) => `Select ${name}`,
    selectAll: 'Select all that match',
    selected: (count: number) => `${number.format(count)} selected`,
    clear: 'Clear the selection',
    tooMany: (limit: number) => `Only the first ${number.format(limit)} are selected.`,
    remove: 'Delete',
    namespace: 'Namespace',
    sortHint: 'Sort. With Shift it is added to the order.',
  },

  filter: {
    label: 'Filter',
    field: 'Field',
    operator: 'Condition',
    value: 'Value',
    add: 'Add',
    labels: 'Label',
    labelsHint: 'key=value, or key',
    addLabel: 'Add label',
    drop: (text: string) => `Remove the condition ${text}`,
    noLabel: 'A label is key=value, or key alone.',
    operators: {
      '=': 'is',
      '!=': 'is not',
      '^=': 'begins with',
      '>=': 'at least',
      '<=': 'at most',
      '>': 'greater than',
      '<': 'less than',
      exists: 'is there',
      missing: 'is absent',
    },
  },

  bulk,
  columns,
  exported,
  owners,
  snippet,
  views,

  object: {
    tabs: 'Parts of the object',
    overview: 'Overview',
    yaml: 'YAML',
    gone: 'This object does not exist, or it was deleted.',
    deleting: (since: string) => `Its deletion began ${since}; it waits for these finalizers:`,
    isDeleting: 'Its deletion has begun.',
    finalizers: 'The program that set a finalizer removes it when its work is done.',
    mayRemoveFinalizers: 'You may remove them in the YAML; then that work is not done.',
    whoRemovesFinalizers: (rule: string) => `By hand they are removed by who has this rule: ${rule}`,
    values: 'Values',
    emptyText: 'empty text',
    hidden: 'hidden',
    more: (count: number) => `${number.format(count)} more, see YAML`,
    metadata: 'Metadata',
    name: 'Name',
    namespace: 'Namespace',
    created: 'Created',
    labels: 'Labels',
    annotations: 'Annotations',
    uid: 'UID',
    revision: 'Revision',
    none: 'none',
    conditions: 'Conditions',
    condition: { type: 'Type', status: 'Status', reason: 'Reason', message: 'Message', since: 'Since' },
    events: 'Events',
    noEvents: 'There are no events of this object.',
    noEventsRight: 'You may not list events.',
    event: { type: 'Type', reason: 'Reason', message: 'Message', last: 'Last seen', count: 'Count' },
    remove: 'Delete',
    removeTitle: (name: string) => `Delete ${name}?`,
    removeText: 'This cannot be undone.',
  },

  editor: {
    label: (name: string) => `YAML of ${name}`,
    save: 'Save',
    create: 'Create',
    review: 'Review changes',
    back: 'Back to the text',
    discard: 'Discard my changes',
    unchanged: 'Nothing is changed.',
    changes: 'Changes: stored on the left, yours on the right',
    saved: 'Saved.',
    invalid: (message: string) => `The text is not YAML: ${message}`,
    notObject: 'The text must be one object with apiVersion, kind and metadata.',
    otherObject: (kind: string, name: string) =>
      `This page edits ${kind} ${name}: kind, name and namespace cannot change.`,
    causes: 'The server refuses it:',
    newer: 'Somebody else saved this object while you were editing.',
    merge: 'Merge their changes into mine',
    merged: 'Their changes are in your text. Nothing is saved yet.',
    conflicts: 'You both changed these fields. Choose which value to keep:',
    mine: 'Mine',
    theirs: 'Theirs',
    absent: 'absent',
    leave: 'You have changes that are not saved. Leave the page?',
    newTitle: (kind: string) => `New ${kind}`,
  },

  fields: {
    title: (kind: string) => `Fields of ${kind}`,
    link: 'Fields',
    versions: (versions: string) => `Served versions: ${versions}.`,
    definition: 'Its definition',
    indexes: 'Indexes',
    indexesIntro: 'A list can be filtered by these, and sorted by those of one value.',
    index: 'Index',
    type: 'Type',
    sorts: 'Sorts',
    unique: 'Unique',
    yes: 'yes',
    no: 'no',
    fields: 'Fields',
    required: 'required',
    anything: 'any value',
    intOrString: 'integer or string',
    listOf: (element: string) => `list of ${element}`,
    keyedListOf: (element: string, keys: string) => `list of ${element}, by ${keys}`,
    mapOf: (value: string) => `map of ${value}`,
    oneOf: (values: string) => `one of ${values}`,
    value: 'value',
    length: 'length',
    elements: 'elements',
    range: (what: string, min: number | undefined, max: number | undefined) =>
      max === undefined
        ? `${what} at least ${min}`
        : min === undefined
          ? `${what} at most ${max}`
          : `${what} ${min} to ${max}`,
    pattern: (pattern: string) => `matches ${pattern}`,
    default: (value: string) => `${value} if absent`,
    nullable: 'may be null',
  },

  apply,

  content,
  events,
  frame,
  health,
  plots,
  plugins,
  userCenter,
};
