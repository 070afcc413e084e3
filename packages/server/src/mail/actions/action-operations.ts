/** Which operation each action of mail runs. This module and what it imports are loaded with the first request for one of them. */
import { runGetMembers } from './account-members.ts';
import { runBatchUpdate, runDestroy, runMove } from './change-emails.ts';
import { runAuthorize, runDiscover, runFinishAuthorization, runTest } from './connect-account.ts';
import { runExport } from './export-mail.ts';
import { runGetImage } from './get-image.ts';
import { runImport } from './import-mail.ts';
import { runCampaignStep, runPreviewCampaign, runScheduleCampaign, runTestCampaign } from './mail-campaigns.ts';
import { runPushKey, runSubscribe, runUnsubscribePush } from './mail-push.ts';
import type { MailRequest, MailResult } from './mail-request.ts';
import { runApplyRule, runTryRule } from './mail-rules.ts';
import { runFillTemplate } from './mail-templates.ts';
import { runMergeContacts } from './merge-contacts.ts';
import { runGetAttachment, runGetConversation, runGetEmail, runGetRaw } from './read-mail.ts';
import { runRethread } from './rebuild-conversations.ts';
import { runAttach, runSaveDraft } from './save-draft.ts';
import { runCancelSend, runReply, runRetrySend, runSend } from './send-mail.ts';
import { runSync, runWaiting } from './sync-account.ts';
import { runUnsubscribe } from './unsubscribe.ts';
import { runConfirmAlias, runVerifyAlias } from './verify-alias.ts';

export const actionOperations = {
  'emails:get': runGetEmail,
  'emails:raw': runGetRaw,
  'emails:image': runGetImage,
  'emails:unsubscribe': runUnsubscribe,
  'emails:export': runExport,
  'conversations:get': runGetConversation,
  'attachments:get': runGetAttachment,
  'emails:saveDraft': runSaveDraft,
  'emails:attach': runAttach,
  'emails:send': runSend,
  'emails:reply': (request) => runReply(request, 'reply'),
  'emails:replyAll': (request) => runReply(request, 'replyAll'),
  'emails:forward': (request) => runReply(request, 'forward'),
  'emails:cancelSend': runCancelSend,
  'emails:retrySend': runRetrySend,
  'emails:import': runImport,
  'accounts:members': runGetMembers,
  'accounts:rethread': runRethread,
  'accounts:discover': runDiscover,
  'accounts:test': runTest,
  'accounts:authorize': runAuthorize,
  'accounts:finishAuthorization': runFinishAuthorization,
  'accounts:sync': runSync,
  'accounts:waiting': runWaiting,
  'accounts:verifyAlias': runVerifyAlias,
  'accounts:confirmAlias': runConfirmAlias,
  'mailRules:try': runTryRule,
  'mailRules:apply': runApplyRule,
  'mailCampaigns:preview': runPreviewCampaign,
  'mailCampaigns:test': runTestCampaign,
  'mailCampaigns:start': (request) => runCampaignStep(request, 'start'),
  'mailCampaigns:schedule': runScheduleCampaign,
  'mailCampaigns:pause': (request) => runCampaignStep(request, 'pause'),
  'mailCampaigns:resume': (request) => runCampaignStep(request, 'resume'),
  'mailCampaigns:cancel': (request) => runCampaignStep(request, 'cancel'),
  'mailTemplates:fill': runFillTemplate,
  'contacts:merge': runMergeContacts,
  'mailPushSubscriptions:key': runPushKey,
  'mailPushSubscriptions:subscribe': runSubscribe,
  'mailPushSubscriptions:unsubscribe': runUnsubscribePush,
  'emails:move': runMove,
  'emails:destroy': runDestroy,
  'emails:batchUpdate': runBatchUpdate,
} satisfies Readonly<Record<string, (request: MailRequest) => Promise<MailResult>>>;
