# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kills, freezes and cuts whatever belongs to a DVM under load, one and several at a time, and looks after each round whether all is
as it has to be: each job has ended with a reason or with the right output, nothing of it is left, nodes that were not struck are UP, and
the DVM answers. chaosrounds.py has what can be set.
"""

import dvmtest
import chaosrounds
import chaosworld


class Chaos(dvmtest.Case):
    def test_rounds(self):
        chaosrounds.run(self, chaosworld.World(self))


if __name__ == '__main__':
    dvmtest.main()
