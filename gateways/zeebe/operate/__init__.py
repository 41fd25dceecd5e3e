"""Camunda's Operate and Tasklist beside the embedded broker, on an OpenSearch node of their own."""

from gateways.zeebe.operate.files import OperateFiles
from gateways.zeebe.operate.lifecycle import leave, start, stop
from gateways.zeebe.operate.status import OperateStatus, operate_status
from gateways.zeebe.operate.users import USER

__all__ = ["USER", "OperateFiles", "OperateStatus", "leave", "operate_status", "start", "stop"]
