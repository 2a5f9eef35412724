/** What a user has and does about themself. */
export const userCenter = {
  name: 'User center',
  product: 'svc user center',
  elsewhere: 'Elsewhere',
  console: 'Console',
  plainPages: 'Pages without script',
  noPage: (path: string) => `The user center has no page ${path}.`,

  profile: {
    title: 'Profile',
    account: 'Account',
    groups: 'Groups',
    since: 'Since',
    given: 'Administrators set username, roles, groups and expiry.',
    about: 'About you',
    save: 'Save',
    saved: 'Your profile is saved.',
    unchanged: 'Nothing is changed.',
  },

  password: {
    title: 'Password',
    old: 'Current password',
    again: 'New password again',
    intro:
      'Your other sessions and all Bearer tokens end. Personal tokens, access keys and the private token stay unless you tick the box.',
    revoke: 'End my personal tokens, access keys and private token, too: somebody else may know them',
    submit: 'Change password',
    changed: 'Your password is changed. Your other sessions have ended, and so have all Bearer tokens.',
    revoked:
      'Your password is changed. Your other sessions have ended, and so have all Bearer tokens, personal tokens, access keys and the private token.',
  },

  logins: {
    title: 'Logins',
    intro: 'Who logged in as you, and who was refused and why.',
  },

  orgs: {
    title: 'Organizations',
    intro:
      'Where you have a role. Administrators of an organization give and take roles; its namespace on the platform has its objects.',
    none: 'You have a role in no organization.',
  },
};
