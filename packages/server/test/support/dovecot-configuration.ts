import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { SystemUser } from '../../../../scripts/unprivileged-user.ts';
import type { MailCertificate } from './mail-certificate.ts';

export interface DovecotOptions {
  /** True: the server only offers IMAP4rev1. A list: it offers exactly these capabilities. */
  readonly poor?: boolean | readonly string[];
  readonly limits?: {
    /** The maximum number of open IMAP connections of one user from one address; 200 by default. */
    readonly connectionsPerUser?: number;
    /** The maximum size of the mail of one user, in kilobytes; unlimited by default. */
    readonly quotaKilobytes?: number;
    /** The maximum size of a message that the server accepts by IMAP, in kilobytes. */
    readonly mailKilobytes?: number;
  };
  /** Names of the users, at example.test. */
  readonly userNames?: readonly string[];
  /** A certificate to use instead of the one for localhost, mail.example.test and 127.0.0.1. */
  readonly certificate?: MailCertificate;
  /**
   * The introspection endpoint of an OAuth server, to which Dovecot sends the access token. The server then accepts
   * XOAUTH2 and OAUTHBEARER. The reply names the user in the field `email`.
   */
  readonly introspectionUrl?: string;
  /** False: passwords are only accepted over TLS. */
  readonly allowsPlaintext?: boolean;
}

export interface DovecotPorts {
  readonly imapPort: number;
  readonly imapsPort: number;
  readonly lmtpPort: number;
}

/**
 * Writes `dovecot.conf` into the folder of the server.
 *
 * @param user the user that runs Dovecot; undefined: the current user.
 */
export function writeDovecotConfiguration(
  folder: string,
  ports: DovecotPorts,
  user: SystemUser | undefined,
  options: DovecotOptions,
): void {
  const { uid, gid } = user ?? userInfo();
  const nameOf = (flag: string): string =>
    execFileSync('id', ['-n', flag, String(uid)])
      .toString()
      .trim();
  const text = [
    processSettings(folder, { uid, gid }, nameOf('-u'), nameOf('-g')),
    serviceSettings(ports),
    loginSettings(folder, { uid, gid }, options),
    mailSettings(options),
  ].join('\n');
  writeFileSync(join(folder, 'dovecot.conf'), text);
  if (options.introspectionUrl === undefined) return;
  const oauth = [
    `introspection_url = ${options.introspectionUrl}`,
    'introspection_mode = post',
    'username_attribute = email',
    'active_attribute = active',
    'active_value = true',
  ];
  writeFileSync(join(folder, 'oauth2.conf'), `${oauth.join('\n')}\n`);
}

/**
 * Dovecot runs as one ordinary user, so it neither changes the user nor the root folder of its processes. Failed sign-ins
 * are not delayed.
 */
function processSettings(folder: string, { uid, gid }: SystemUser, userName: string, groupName: string): string {
  return `
protocols = imap lmtp
listen = 127.0.0.1
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/log
default_internal_user = ${userName}
default_internal_group = ${groupName}
default_login_user = ${userName}
mail_uid = ${uid}
mail_gid = ${gid}
first_valid_uid = ${uid}
last_valid_uid = ${uid}
first_valid_gid = ${gid}
last_valid_gid = ${gid}
default_client_limit = 2000
service anvil {
  chroot =
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service stats {
  chroot =
}
`;
}

function serviceSettings({ imapPort, imapsPort, lmtpPort }: DovecotPorts): string {
  return `
service imap-login {
  chroot =
  service_count = 0
  client_limit = 500
  inet_listener imap {
    port = ${imapPort}
  }
  inet_listener imaps {
    port = ${imapsPort}
    ssl = yes
  }
}
service imap {
  process_limit = 500
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = ${lmtpPort}
  }
}
`;
}

function loginSettings(folder: string, { uid, gid }: SystemUser, options: DovecotOptions): string {
  const { introspectionUrl, allowsPlaintext = true } = options;
  const oauth = `
passdb {
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = ${folder}/oauth2.conf
}
`;
  return `
ssl = yes
ssl_cert = <${folder}/cert.pem
ssl_key = <${folder}/key.pem
ssl_min_protocol = TLSv1.2
disable_plaintext_auth = ${allowsPlaintext ? 'no' : 'yes'}
auth_mechanisms = plain login${introspectionUrl === undefined ? '' : ' xoauth2 oauthbearer'}
auth_failure_delay = 0
login_trusted_networks = ${allowsPlaintext ? '127.0.0.1' : ''}
passdb {
  driver = passwd-file
  args = username_format=%u ${folder}/passwd
}
${introspectionUrl === undefined ? '' : oauth}
userdb {
  driver = static
  args = uid=${uid} gid=${gid} home=${folder}/mail/%n
}
`;
}

const specialUse = ['Drafts', 'Sent', 'Trash', 'Junk', 'Archive'];

/** A folder in which Dovecot writes what each IMAP connection sends and receives, with times. Its user must be able to write there. */
const rawlog = process.env['DOVECOT_RAWLOG'];

function mailSettings({ poor = false, limits = {} }: DovecotOptions): string {
  const { connectionsPerUser = 200, quotaKilobytes, mailKilobytes } = limits;
  const capabilities = poor === true ? ['IMAP4rev1'] : poor || [];
  const hasQuota = quotaKilobytes !== undefined || mailKilobytes !== undefined;
  const mailboxes = specialUse.map(
    (name) => `  mailbox ${name} {\n    special_use = \\${name}\n    auto = subscribe\n  }`,
  );
  return `
mail_location = maildir:~/Maildir
mail_fsync = never
mailbox_list_index = yes
mail_plugins =${hasQuota ? ' quota' : ''}
namespace inbox {
  inbox = yes
  separator = /
${mailboxes.join('\n')}
}
plugin {
${hasQuota ? '  quota = maildir:User quota' : ''}
${quotaKilobytes === undefined ? '' : `  quota_rule = *:storage=${quotaKilobytes}K`}
${mailKilobytes === undefined ? '' : `  quota_max_mail_size = ${mailKilobytes}K`}
}
protocol imap {
  mail_max_userip_connections = ${connectionsPerUser}
  ${rawlog === undefined ? '' : `rawlog_dir = ${rawlog}`}
  mail_plugins = $mail_plugins${hasQuota ? ' imap_quota' : ''}
  ${capabilities.length === 0 ? '' : `imap_capability = ${capabilities.join(' ')}`}
}
protocol lmtp {
  postmaster_address = postmaster@example.test
}
`;
}
