# SPDX-License-Identifier: LGPL-2.1-or-later
"""A message bus of one's own: at an address that stays, with a policy and services to start, and it can be ended."""

import os
import subprocess

CONFIG = '''<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>{type}</type>
  <listen>{address}</listen>
  <auth>EXTERNAL</auth>
  {services}
  {policy}
</busconfig>
'''
# What the buses of Debian begin with.
SESSION_POLICY = '''<policy context="default">
    <allow send_destination="*" eavesdrop="true"/> <allow eavesdrop="true"/> <allow own="*"/>
  </policy>'''
SYSTEM_POLICY = '''<policy context="default">
    <allow user="*"/> <deny own="*"/> <deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/> <allow receive_type="method_return"/>
    <allow receive_type="error"/> <allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/>
    <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Introspectable"/>
    <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Properties"/>
  </policy>'''


class MessageBus:
    """open_to_all: other users may connect to a session bus, too."""

    def __init__(self, place, kind='session', policy_file=None, services=None, env=None, open_to_all=False):
        self.kind = kind
        self.address = f'unix:path={place}/{kind}'
        self.config = os.path.join(place, f'{kind}.conf')
        self.log_path = os.path.join(place, f'{kind}.log')
        self.env = dict(os.environ, **(env or {}))
        self.process = None
        policy = SESSION_POLICY if kind == 'session' else SYSTEM_POLICY
        if open_to_all:
            policy = '<policy context="default"> <allow user="*"/> </policy>\n  ' + policy
            os.chmod(place, 0o755)
        if policy_file is not None:
            policy += f'\n  <include>{policy_file}</include>'
        with open(self.config, 'w') as f:
            f.write(CONFIG.format(type=kind, address=self.address, policy=policy,
                                  services=f'<servicedir>{services}</servicedir>' if services else ''))
        self.start()

    def start(self):
        with open(self.log_path, 'ab') as log:
            self.process = subprocess.Popen(['dbus-daemon', f'--config-file={self.config}', '--nofork', '--nopidfile',
                                             '--print-address=1'], env=self.env, stdout=subprocess.PIPE, stderr=log)
        if not self.process.stdout.readline():
            raise AssertionError(f'no bus: {self.log()}')

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def log(self):
        with open(self.log_path, errors='replace') as f:
            return f.read()
