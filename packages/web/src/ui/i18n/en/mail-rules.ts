/** Texts of the rules and the vacation reply of a mail account. */
const fields = {
  from: 'Sender',
  to: 'To',
  cc: 'Cc',
  recipients: 'Any recipient',
  subject: 'Subject',
  body: 'Text',
  header: 'Header',
  size: 'Size',
  hasAttachments: 'Has attachments',
  isReply: 'Is a reply',
  isList: 'From a mailing list',
};
const operators: Readonly<Record<string, readonly [plain: string, negated: string]>> = {
  contains: ['contains', 'does not contain'],
  is: ['is', 'is not'],
  startsWith: ['begins with', 'does not begin with'],
  endsWith: ['ends with', 'does not end with'],
  matchesDomain: ['is of the domain', 'is not of the domain'],
  greater: ['is greater than', 'is not greater than'],
  less: ['is less than', 'is not less than'],
};
const getOperatorName = (operator: string, isNegated: boolean): string =>
  operators[operator]?.[isNegated ? 1 : 0] ?? operator;

interface DescribedCondition {
  readonly field: keyof typeof fields;
  readonly operator: string;
  readonly value: string | number | boolean;
  readonly negate?: boolean;
  readonly header?: string;
}

export const mailRules = {
  title: 'Rules',
  description: 'Rules sort messages when they arrive in the inbox. A vacation reply answers while you are away.',
  manage: 'Rules and vacation reply',
  manageText: 'Sort arriving messages and answer them automatically.',
  listTitle: 'Rules for arriving messages',
  listText:
    'Rules are applied from top to bottom. A rule acts as the user who last changed it, with that user’s permissions.',
  none: 'No rules yet.',
  add: 'New rule',
  editTitle: 'Edit the rule',
  columns: {
    enabled: 'On',
    name: 'Rule',
    from: 'From',
    subject: 'Subject',
    received: 'Received',
    effects: 'What happens',
  },
  enabled: (name: string) => `Apply ${name}`,
  edit: (name: string) => `Edit ${name}`,
  destroy: (name: string) => `Delete ${name}`,
  moveUp: (name: string) => `Move ${name} up`,
  moveDown: (name: string) => `Move ${name} down`,
  destroyTitle: 'Delete the rule?',
  destroyText: (name: string) => `The rule ${name} will be deleted. Messages that it has sorted stay where they are.`,
  destroyed: 'Rule deleted.',
  created: 'Rule created.',
  saved: 'Rule saved.',
  problem: (problem: string) => `Could not be applied. ${problem}`,
  describeCondition: ({ field, operator, value, negate = false, header }: DescribedCondition) =>
    typeof value === 'boolean'
      ? `${fields[field]}: ${value === negate ? 'no' : 'yes'}`
      : `${field === 'header' ? header : fields[field]} ${getOperatorName(operator, negate)} “${value}”`,
  summary: (conditions: readonly string[], matches: 'all' | 'any', actions: readonly string[]) =>
    `${conditions.join(matches === 'all' ? ' and ' : ' or ')} → ${actions.join(', ')}`,
  name: 'Name',
  conditions: 'If',
  matches: 'Conditions that must match',
  all: 'all of these match',
  any: 'any of these matches',
  conditionPart: (n: number, part: string) => `Condition ${n}: ${part}`,
  field: 'field',
  comparison: 'comparison',
  value: 'value',
  headerName: 'name of the header',
  headerExample: 'X-Spam-Flag',
  replySubjectExample: 'Re: {{subject}}',
  addCondition: 'Add a condition',
  removeCondition: (n: number) => `Remove condition ${n}`,
  fields,
  operatorName: getOperatorName,
  placeholders: { from: 'ann@example.com', to: 'ann@example.com', cc: 'ann@example.com' } as Readonly<
    Record<string, string>
  >,
  yes: 'Yes',
  no: 'No',
  bytes: 'bytes',
  actionsTitle: 'Then',
  actionPart: (n: number, part: string) => `Action ${n}: ${part}`,
  action: 'action',
  folder: 'folder',
  label: 'label',
  member: 'member',
  addAction: 'Add an action',
  removeAction: (n: number) => `Remove action ${n}`,
  actions: {
    move: 'Move to a folder',
    star: 'Star',
    markRead: 'Mark as read',
    addLabel: 'Add a label',
    removeLabel: 'Remove a label',
    assign: 'Assign to a member',
    reply: 'Reply automatically',
    webhook: 'Notify webhooks',
  },
  chooseMember: 'Choose a member',
  membersHidden: 'Your role cannot list users.',
  webhookHint:
    'Webhooks that subscribe to emails.ruleMatched receive the name of the rule and the id of the message, and nothing of its content.',
  replySubject: 'Subject of the reply',
  replyText: 'Text of the reply',
  replyHint:
    'Each sender gets it once a week. Programs and mailing lists get none. {{name}}, {{address}} and {{subject}} stand for those of the message.',
  replyHtmlHint: 'This reply also has an HTML version, which is removed if you change the text.',
  stop: 'Apply no further rules to messages that match',
  stopShort: 'stop',
  try: 'Try on existing messages',
  tryHint: 'Shows which messages of the inbox match. Nothing is changed.',
  tried: (found: number, scanned: number) =>
    `${found} of the newest ${scanned} ${scanned === 1 ? 'message matches' : 'messages match'}. Nothing was changed.`,
  tryMore: 'Check older messages',
  matching: 'Matching messages',
  noEffect: 'Nothing changes',
  noReply: 'No reply to this sender',
  vacation: {
    subjectExample: 'Auto: {{subject}}',
    title: 'Vacation reply',
    text: 'Answers each sender once a week, if the message names this account in To or Cc. Mailing lists and programs get no answer.',
    enabled: 'Send vacation replies',
    from: 'From',
    until: 'Until',
    optional: 'Optional, in your time zone',
    subject: 'Subject',
    message: 'Text',
    knownSendersOnly: 'Only to people to whom this account has written before',
    saved: 'Vacation reply saved.',
  },
};
